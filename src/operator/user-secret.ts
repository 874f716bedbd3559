// Secrets of users that a spec names. Where they are not followed, one that is missing or bad is
// looked at again and again.
import type { Resource } from '../resources/resource.ts';
import type { SigningCertResource } from '../resources/signing-cert-resource.ts';
import type { OperatorContext, Outcome, Visit } from './reconciler.ts';

export const LOOK_AGAIN_MS = 30_000;

/** Names of the Secrets that its spec names; they lie in its namespace. */
export const secretsOf = ({ spec }: SigningCertResource): readonly string[] =>
  [spec.import, spec.crl].flatMap((from) => (from === undefined ? [] : [from.secretRef.name]));

type SecretVisit = Pick<Visit<Resource>, 'resource' | 'signal'>;

type Read<Name extends string> =
  | { readonly texts: Readonly<Record<Name, string>>; readonly outcome?: undefined }
  | { readonly outcome: Outcome; readonly texts?: undefined };

/** The value of the first key of each list that is there; a list without any is waited for. */
export async function readUserSecret<Name extends string>(
  { source }: OperatorContext,
  { resource, signal }: SecretVisit,
  { name }: { readonly name: string },
  wanted: Readonly<Record<Name, readonly string[]>>,
): Promise<Read<Name>> {
  const { namespace } = resource.metadata;
  const title = `Secret ${namespace}/${name}`;
  const values = await source.readSecret(namespace, name, signal);
  if (values === undefined)
    return { outcome: missing(`${title} does not exist yet; this object goes on once it does.`) };
  const texts: Partial<Record<Name, string>> = {};
  for (const [field, keys] of Object.entries(wanted) as [Name, readonly string[]][]) {
    const value = keys.map((key) => values[key]).find((one) => one !== undefined);
    if (value === undefined)
      return { outcome: missing(`${title} has no ${keys.join(' or ')}; this object goes on once it has.`) };
    texts[field] = value.toString();
  }
  return { texts: texts as Readonly<Record<Name, string>> };
}

const missing = (message: string): Outcome => ({
  outcome: 'wait',
  reason: 'DependencyNotReady',
  message,
  afterMs: LOOK_AGAIN_MS,
});
