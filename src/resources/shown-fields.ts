// What fields of several resources have in common: ids, text that is only shown, null, and examples that belong together.
import { described, nullable, oneOf, type TSchema, Type } from '../schema/define.ts';
import { resourceId } from '../schema/fragments.ts';
import { readOnly } from './field.ts';
import { revocationReasonNames } from './revocation-reasons.ts';

export const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMIIB...\n-----END CERTIFICATE-----\n';
export const DIRECTORY_URL = 'https://localhost:8443/acme/web/directory';

const CHAIN = 10;

export const id = (prefix: string) => readOnly(described(resourceId(prefix), 'The id of this resource.'));
export const object = <const N extends string>(name: N) =>
  readOnly(described(oneOf([name]), 'The kind of this resource.'));
export const idOf = (prefix: string, description: string) => described(resourceId(prefix), description);
/** Text that is only shown: stored values may be longer than what input takes today. */
export const shownText = (description: string, example: string) => Type.String({ description, examples: [example] });
export const shownPem = (description: string) => shownText(description, CERTIFICATE);
export const shownPemList = (description: string) =>
  Type.Array(Type.String(), { maxItems: CHAIN, description, examples: [[CERTIFICATE]] });
/** What most resources do not have, so that examples do not either. */
export const mostlyNull = (schema: TSchema, description: string) =>
  described(nullable(schema), description, { examples: [null] });
export const orNull = (schema: TSchema, description: string) => described(nullable(schema), description);

export const chain = (description: string) => readOnly(shownPemList(description), 'single');
export const shownReason = readOnly(
  mostlyNull(oneOf(revocationReasonNames), 'Why it was revoked; null when it is not.'),
);

export function nullableText(description: string, example: string) {
  return nullable(shownText(description, example));
}
