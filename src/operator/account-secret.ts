// The Secret of an AcmeKey that makes its key: the only place where the private key is.
import { newAccountPrivateKey, publicHalfOf } from '../core/account-key-pair.ts';
import { type AppliedAcmeKey, isKeyOfAccount } from '../core/declared-acme-key.ts';
import type { AcmeKeyResource } from '../resources/acme-key-resource.ts';
import { done, type OperatorContext, type Outcome, type Visit } from './reconciler.ts';

type KeyVisit = Visit<AcmeKeyResource>;
type KeyType = NonNullable<AcmeKeyResource['spec']['generate']>['keyType'];
type Values = Readonly<Record<string, string>>;

export type AccountSecret = { readonly kind: 'Secret'; readonly name: string; readonly keyType: KeyType };

const PRIVATE_KEY = 'tls.key';

/** Undefined where the owner of the object has the key. */
export function accountSecret({ metadata, spec: { generate } }: AcmeKeyResource): AccountSecret | undefined {
  if (generate === undefined) return undefined;
  return { kind: 'Secret', name: generate.secretName ?? `${metadata.name}-account`, keyType: generate.keyType };
}

/** Of the key that stands in the Secret, where a new one is put if there is none; what stands there is never replaced. */
export async function firstPublicKey(
  { outputs, anchors }: OperatorContext,
  { resource, signal }: KeyVisit,
  secret: AccountSecret,
): Promise<string> {
  const standing = (await outputs.read(resource, secret, signal)) ?? (await made());
  return publicHalfOf(standing[PRIVATE_KEY] ?? '');

  async function made(): Promise<Values> {
    const data = { [PRIVATE_KEY]: await newAccountPrivateKey(secret.keyType), ...trusted(anchors()) };
    return outputs.createOnce(resource, { kind: secret.kind, name: secret.name, data }, signal);
  }
}

/** Puts beside the key what its client needs; says so where the key is gone, or another. */
export async function secretSynced(
  operator: OperatorContext,
  visit: KeyVisit,
  secret: AccountSecret,
  { as, view }: AppliedAcmeKey,
): Promise<Outcome> {
  const { resource, signal, status } = visit;
  const isKnown = status.secretName === secret.name;
  if (isKnown && as === 'unchanged' && !visit.isThorough) return done;
  const standing = await operator.outputs.read(resource, secret, signal);
  const key = standing?.[PRIVATE_KEY];
  if (key === undefined) return stalled('KeyLost', secret, 'is gone, and with it the only copy of the private key');
  if (!(await isItsKey(operator, view, key))) {
    return stalled('KeyLost', secret, 'holds another private key than the one that was made for this object');
  }
  const own = { [PRIVATE_KEY]: key, directory: view.directoryUrl, account: view.kid };
  const data = { ...own, ...trusted(operator.anchors()) };
  const output = { kind: secret.kind, name: secret.name, data, wasMade: true };
  const written = await operator.outputs.apply(resource, output, signal);
  if (isKnown && written !== 'unchanged') {
    const note = `Secret ${secret.name} was not as it should be, and is so again.`;
    visit.event({ type: 'Warning', reason: 'DriftCorrected', note });
  }
  status.secretName = secret.name;
  return done;
}

/** Worth knowing of the key, for the condition. */
export const noteOn = ({ keyType }: AccountSecret): string =>
  keyType.startsWith('rsa')
    ? ''
    : ' cert-manager takes RSA keys only; for it declare an object with generate.keyType: rsa_2048.';

/** One that its client has replaced since is its own, too. */
async function isItsKey({ ca }: OperatorContext, view: AppliedAcmeKey['view'], privateKey: string): Promise<boolean> {
  const publicKey = await publicHalfOf(privateKey);
  return publicKey === view.publicKey || isKeyOfAccount(ca, view.id, publicKey);
}

const stalled = (reason: string, { name }: AccountSecret, what: string): Outcome => ({
  outcome: 'stalled',
  reason,
  message: `Secret ${name} ${what}. Restore it from a backup, or delete this object and declare it again: that revokes the account and makes a new key.`,
});

const trusted = (anchors: string | undefined) => (anchors === undefined ? {} : { 'ca.crt': anchors });
