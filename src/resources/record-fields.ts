// Fields of what ACME clients make: issued certs and orders. All of them are only shown.
import { statesOf } from '../lifecycles/lifecycle.ts';
import { orderLifecycle } from '../lifecycles/order.ts';
import { described, oneOf, Type } from '../schema/define.ts';
import { timestamp } from '../schema/fragments.ts';
import { readOnly } from './field.ts';
import { id, idOf, mostlyNull, object, shownPem, shownPemList, shownReason } from './shown-fields.ts';

export const issuedCertStates = ['valid', 'expired', 'revoked'] as const;
export const orderStates = statesOf(orderLifecycle);

export const issuedCertFields = {
  id: id('icrt'),
  object: object('issued_cert'),
  acme_key_id: readOnly(idOf('acmk', 'Account key that ordered it.')),
  directory_id: readOnly(idOf('dir', 'Directory it was ordered in.')),
  order_id: readOnly(idOf('ordr', 'Order it came from.')),
  signing_cert_id: readOnly(idOf('scrt', 'Intermediate CA cert that signed it.')),
  expires_at: readOnly(described(timestamp, 'End of the certificate.')),
  state: readOnly(oneOf(issuedCertStates, { description: 'State of the certificate.' })),
  revoke_reason: shownReason,
  subjects: readOnly(
    Type.Array(Type.String(), {
      description: 'DNS names and IP addresses, in the order of the certificate.',
      examples: [['shop.corp.example']],
    }),
  ),
  public_cert: readOnly(shownPem('Certificate in PEM.'), 'single'),
  cert_chain: readOnly(shownPemList('Intermediate certificates in PEM, issuer first.'), 'sometimes'),
};

export const orderFields = {
  id: id('ordr'),
  object: object('order'),
  acme_key_id: readOnly(idOf('acmk', 'Account key that made the order.')),
  directory_id: readOnly(idOf('dir', 'Directory of the order.')),
  created_at: readOnly(
    described(timestamp, 'When the order was made, with milliseconds.', { examples: ['2026-03-01T12:00:00.000Z'] }),
  ),
  expires_at: readOnly(
    described(timestamp, 'End of the order, with milliseconds.', { examples: ['2026-03-08T12:00:00.000Z'] }),
  ),
  dns_identifiers: readOnly(
    Type.Array(Type.String(), { description: 'DNS names.', examples: [['shop.corp.example']] }),
  ),
  ip_identifiers: readOnly(Type.Array(Type.String(), { description: 'IP addresses.', examples: [[]] })),
  not_before: readOnly(mostlyNull(timestamp, 'Requested begin of the certificate.')),
  not_after: readOnly(mostlyNull(timestamp, 'Requested end of the certificate.')),
  state: readOnly(oneOf(orderStates, { description: 'State of the order.', examples: ['valid'] })),
};
