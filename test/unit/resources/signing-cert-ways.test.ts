import { expect, test } from 'vitest';
import { brokenRules } from '../../../src/resources/rules.ts';
import { signingCertKind } from '../../../src/resources/signing-cert-resource.ts';
import { type SigningCertInput, signingCertVariant } from '../../../src/resources/signing-cert-variants.ts';

/** A field of a spec, and what /v1 has for it. */
type Part = { readonly spec: object; readonly input: object };

const parts: readonly Part[] = [
  { spec: { privateKeyType: 'ec_256' }, input: { private_key_type: 'ec_256' } },
  { spec: { signingCertRef: { name: 'a' } }, input: { signing_cert_id: 'scrt_x' } },
  { spec: { subject: {} }, input: { subject: {} } },
  { spec: { validDays: 1 }, input: { valid_days: 1 } },
  { spec: { pathLength: 0 }, input: { path_length: 0 } },
  { spec: { nameConstraints: {} }, input: { name_constraints: {} } },
];

/** Every choice of some of the parts. */
const choices = parts.reduce<readonly Part[]>(
  (before, part) =>
    before.concat(
      before.map(({ spec, input }) => ({ spec: { ...spec, ...part.spec }, input: { ...input, ...part.input } })),
    ),
  [{ spec: {}, input: {} }],
);

const usual = { allowedNamespaces: { from: 'Same' }, deletionPolicy: 'Retain' } as const;
const importing = { import: { secretRef: { name: 'a' } } };

const certificates = {
  online: [
    { spec: {}, input: {} },
    { spec: importing, input: { public_cert: 'c', private_key: 'k' } },
  ],
  offline: [
    { spec: {}, input: {} },
    { spec: importing, input: { public_cert: 'c' } },
    { spec: { publicCert: 'c' }, input: { public_cert: 'c' } },
  ],
} as const;

test('a SigningCert can be declared in the ways in which /v1 makes a CA cert, and in no others', () => {
  const differing = (['root', 'intermediate'] as const).flatMap((certType) =>
    (['online', 'offline'] as const).flatMap((keyAvailability) =>
      certificates[keyAvailability].flatMap((certificate) =>
        choices.flatMap((choice) => {
          const spec = { certType, keyAvailability, ...usual, ...certificate.spec, ...choice.spec };
          const input = {
            cert_type: certType,
            key_availability: keyAvailability,
            ...certificate.input,
            ...choice.input,
          };
          const isDeclared = brokenRules(signingCertKind, spec).length === 0;
          const isMade = signingCertVariant(input as SigningCertInput).problems.length === 0;
          return isDeclared === isMade ? [] : [{ spec, isDeclared, isMade }];
        }),
      ),
    ),
  );
  expect(differing).toEqual([]);
});
