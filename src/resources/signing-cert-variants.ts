// The ways to create a CA cert, as data: which fields choose a way, and which it needs or takes.
import type { FieldProblem } from '../schema/validator.ts';
import type { CreateInput } from './field.ts';
import type { signingCertFields } from './fields.ts';

export type SigningCertInput = CreateInput<typeof signingCertFields>;
type FieldName = keyof SigningCertInput & string;
export type SigningCertVariant =
  | 'generate_root'
  | 'generate_intermediate'
  | 'request'
  | 'import_offline'
  | 'import_online';

type Variant = { readonly needs: readonly FieldName[]; readonly takes: readonly FieldName[]; readonly meaning: string };

const always = ['cert_type', 'key_availability', 'name'] as const;
const shape = ['subject', 'path_length', 'name_constraints'] as const;

const variants: Readonly<Record<SigningCertVariant, Variant>> = {
  generate_root: {
    needs: ['private_key_type'],
    takes: [...shape, 'valid_days'],
    meaning: 'to generate a root',
  },
  generate_intermediate: {
    needs: ['private_key_type', 'signing_cert_id'],
    takes: [...shape, 'valid_days'],
    meaning: 'to generate an intermediate below signing_cert_id',
  },
  request: {
    needs: ['private_key_type'],
    takes: ['subject'],
    meaning: 'to generate a key and a CSR for a parent elsewhere',
  },
  import_offline: {
    needs: ['public_cert'],
    takes: ['signing_cert_id'],
    meaning: 'to import a certificate whose key is offline',
  },
  import_online: {
    needs: ['public_cert', 'private_key'],
    takes: ['signing_cert_id'],
    meaning: 'to import a certificate with its key',
  },
};

export type ChosenVariant = { readonly variant: SigningCertVariant; readonly problems: readonly FieldProblem[] };

/** The way that the input takes, and every field that is missing from it or does not belong to it. */
export function signingCertVariant(input: SigningCertInput): ChosenVariant {
  const variant = chosen(input);
  const { needs, takes, meaning } = variants[variant];
  const known: readonly string[] = [...always, ...needs, ...takes];
  const missing = needs
    .filter((name) => !isGiven(input, name))
    .map((name) => problem(name, 'required', `this field is required ${meaning}`));
  const foreign = Object.keys(input)
    .filter((name) => !known.includes(name) && isGiven(input, name))
    .map((name) => problem(name, 'not_applicable', `this field cannot be used ${meaning}`));
  const parent =
    input.cert_type === 'root' && isGiven(input, 'signing_cert_id') && known.includes('signing_cert_id')
      ? [problem('signing_cert_id', 'not_applicable', 'a root has no parent; leave this field out or send null')]
      : [];
  return { variant, problems: [...missing, ...foreign, ...parent] };
}

function chosen(input: SigningCertInput): SigningCertVariant {
  if (input.key_availability === 'offline') return 'import_offline';
  if (isGiven(input, 'public_cert') || isGiven(input, 'private_key')) return 'import_online';
  if (input.cert_type === 'root') return 'generate_root';
  return isGiven(input, 'signing_cert_id') ? 'generate_intermediate' : 'request';
}

/** Null and absent are the same: a reply may be sent back. */
const isGiven = (input: Readonly<Record<string, unknown>>, name: string): boolean =>
  input[name] !== undefined && input[name] !== null;

const problem = (field: string, code: string, message: string): FieldProblem => ({ field, code, message });
