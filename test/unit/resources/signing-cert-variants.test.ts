import { expect, test } from 'vitest';
import { type SigningCertInput, signingCertVariant } from '../../../src/resources/signing-cert-variants.ts';

const online = { cert_type: 'root', key_availability: 'online' } as const;
const intermediate = { ...online, cert_type: 'intermediate' } as const;
const offline = { cert_type: 'root', key_availability: 'offline' } as const;

test.each<[string, SigningCertInput]>([
  ['generate_root', { ...online, name: 'Root', private_key_type: 'ec_384' }],
  [
    'generate_root',
    { ...online, private_key_type: 'ec_384', signing_cert_id: null, public_cert: null, valid_days: 9, path_length: 1 },
  ],
  [
    'generate_intermediate',
    { ...intermediate, private_key_type: 'ec_256', signing_cert_id: 'scrt_1', name_constraints: {} },
  ],
  ['request', { ...intermediate, private_key_type: 'ec_256', subject: { CN: 'x' } }],
  ['import_offline', { ...offline, public_cert: 'pem' }],
  ['import_offline', { ...offline, cert_type: 'intermediate', public_cert: 'pem', signing_cert_id: 'scrt_1' }],
  ['import_online', { ...intermediate, public_cert: 'pem', private_key: 'pem', signing_cert_id: 'scrt_1' }],
  ['import_online', { ...online, public_cert: 'pem', private_key: 'pem' }],
])('%s', (variant, input) => {
  expect(signingCertVariant(input)).toEqual({ variant, problems: [] });
});

test.each<[SigningCertInput, readonly string[]]>([
  [online, ['private_key_type required']],
  [intermediate, ['private_key_type required']],
  [offline, ['public_cert required']],
  [
    { ...offline, private_key_type: 'ec_256', private_key: 'x' },
    ['public_cert required', 'private_key_type not_applicable', 'private_key not_applicable'],
  ],
  [{ ...online, private_key: 'x' }, ['public_cert required']],
  [{ ...online, public_cert: 'x' }, ['private_key required']],
  [{ ...online, public_cert: 'x', private_key: 'y', private_key_type: 'ec_256' }, ['private_key_type not_applicable']],
  [{ ...online, private_key_type: 'ec_256', signing_cert_id: 'scrt_1' }, ['signing_cert_id not_applicable']],
  [{ ...offline, public_cert: 'x', signing_cert_id: 'scrt_1' }, ['signing_cert_id not_applicable']],
  [
    { ...offline, public_cert: 'x', valid_days: 1, subject: {} },
    ['valid_days not_applicable', 'subject not_applicable'],
  ],
])('%j names every field that is missing or does not belong', (input, problems) => {
  expect(signingCertVariant(input).problems.map(({ field, code }) => `${field} ${code}`)).toEqual(problems);
});
