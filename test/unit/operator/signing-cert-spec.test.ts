import { expect, test } from 'vitest';
import { firstCertificate, wantedSigningCert } from '../../../src/operator/signing-cert-spec.ts';
import type { SigningCertSpec } from '../../../src/resources/signing-cert-resource.ts';
import { resourceOf } from '../../support/resource-of.ts';

const spec: SigningCertSpec = {
  certType: 'intermediate',
  keyAvailability: 'online',
  privateKeyType: 'ec_384',
  validDays: 90,
  pathLength: 0,
  subject: { CN: 'Issuing', C: 'DE' },
  nameConstraints: { permittedDns: ['corp.example'], excludedIp: ['10.0.0.0/8'] },
  deletionPolicy: 'Retain',
  allowedNamespaces: { from: 'Same' },
};

test('every field has its name in /v1, and the object gives the name where there is none', () => {
  const resource = resourceOf('SigningCert', 'issuing', spec);
  expect(wantedSigningCert(resource, { parentId: 'uuid' })).toEqual({
    cert_type: 'intermediate',
    key_availability: 'online',
    name: 'issuing',
    signing_cert_id: 'uuid',
    private_key_type: 'ec_384',
    valid_days: 90,
    path_length: 0,
    subject: { CN: 'Issuing', C: 'DE' },
    name_constraints: { permitted_dns: ['corp.example'], excluded_ip: ['10.0.0.0/8'] },
  });
});

test('what a Secret holds stands for certificate and key', () => {
  const { privateKeyType: _, ...imported } = spec;
  const resource = resourceOf('SigningCert', 'old', { ...imported, name: 'Old Root' });
  const material = { public_cert: 'CERTIFICATE', private_key: 'KEY' };
  expect(wantedSigningCert(resource, { material })).toMatchObject({ name: 'Old Root', ...material });
});

test('of a chain the first certificate is that of the CA', () => {
  const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----`;
  expect(firstCertificate(`subject=x\n${pem('one')}\n${pem('two')}\n`)).toBe(pem('one'));
  expect(firstCertificate('no certificate')).toBe('no certificate');
});
