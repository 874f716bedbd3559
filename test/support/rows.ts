// One valid row for every table, in an order in which they can be inserted. Tests override what matters to them.
import type { Insertable } from 'kysely';
import { newUuid } from '../../src/core/ids.ts';
import type { Db } from '../../src/store/database.ts';
import type { Tables } from '../../src/store/tables.ts';

export type Rows = { readonly [T in keyof Tables]: Insertable<Tables[T]> };

export const now = new Date('2026-05-17T12:00:00.000Z');
const later = new Date('2026-08-17T12:00:00.000Z');
const bytes = (text: string): Buffer => Buffer.from(text);

/** Fresh ids each time; the rows refer to each other. */
export function exampleRows(): Rows {
  const [ca, directory, token, account, order, authorization, certificate] = Array.from({ length: 7 }, () =>
    newUuid(now),
  );
  if (!ca || !directory || !token || !account || !order || !authorization || !certificate) throw new Error('no ids');
  return {
    signing_certs: {
      id: ca,
      state: 'active',
      origin: 'api',
      created_at: now,
      name: 'Corp Issuing',
      cert_type: 'intermediate',
      key_availability: 'online',
      key_type: 'ec_384',
      parent_id: null,
      subject: '{"CN":"Corp Issuing"}',
      der: bytes(`certificate ${ca}`),
      subject_der: bytes('subject'),
      ski: bytes('ski'),
      serial: bytes('serial'),
      not_before: now,
      not_after: later,
      key_ref: ca,
    },
    directories: {
      id: directory,
      origin: 'api',
      created_at: now,
      name: 'Web',
      slug: `web-${directory}`,
      signing_cert_id: ca,
      rollover_days: 7,
      allowed_dns_identifiers: ['**'],
      allowed_ip_identifiers: [],
      remote_ip_whitelist: [],
      caa_tag: 'web.acmery.internal',
      on_missing_caa: 'pass',
      registration_mode: 'preregister',
      cert_min_days: 2,
      cert_max_days: 97,
      profiles: ['server'],
      allowed_key_types: ['ec_256'],
    },
    directory_slugs: { slug: `web-${directory}`, directory_id: directory, created_at: now },
    external_bindings: {
      id: token,
      origin: 'api',
      created_at: now,
      directory_id: directory,
      mac_sealed: bytes('sealed'),
      order_validations: 'challenge',
    },
    acme_keys: {
      id: account,
      state: 'valid',
      origin: 'acme',
      created_at: now,
      directory_id: directory,
      external_binding_id: null,
      order_validations: 'challenge',
      contacts: ['mailto:web@corp.example'],
      thumbprint: bytes(`thumbprint ${account}`),
      spki: bytes('spki'),
      jwk: '{"kty":"EC"}',
    },
    used_keys: { thumbprint: bytes(`thumbprint ${account}`), why: 'account', since: now, acme_key_id: account },
    orders: {
      id: order,
      acme_key_id: account,
      directory_id: directory,
      created_at: now,
      expires_at: later,
      state: 'pending',
      profile: 'server',
      identifiers: '[{"type":"dns","value":"shop.corp.example"}]',
    },
    authorizations: {
      id: authorization,
      acme_key_id: account,
      created_at: now,
      expires_at: later,
      state: 'pending',
      type: 'dns',
      value: 'shop.corp.example',
      wildcard: false,
      auto: false,
    },
    order_authorizations: { order_id: order, authorization_id: authorization, position: 0 },
    challenges: {
      id: newUuid(now),
      authorization_id: authorization,
      type: 'http-01',
      state: 'pending',
      token: 'token',
    },
    issued_certs: {
      id: certificate,
      order_id: order,
      acme_key_id: account,
      directory_id: directory,
      signing_cert_id: ca,
      not_before: now,
      not_after: later,
      state: 'valid',
      serial: bytes(`serial ${certificate}`),
      key_thumbprint: bytes('leaf key'),
      subjects: ['shop.corp.example'],
      der: bytes('leaf'),
    },
    issued_cert_names: { name: 'shop.corp.example', issued_cert_id: certificate },
    revocations: {
      signing_cert_id: ca,
      serial: bytes(`serial ${certificate}`),
      revoked_at: now,
      changed_at: now,
      not_after: later,
      entry: bytes('entry'),
    },
    crls: { signing_cert_id: ca },
    ocsp_signers: { id: newUuid(now), signing_cert_id: ca, key_ref: 'ocsp', not_after: later, der: bytes('responder') },
    api_tokens: { id: newUuid(now), name: 'ci', sha256: bytes(`token ${token}`), permission: 'write', created_at: now },
    service_state: { key: `wrap-check-${token}`, value: '{}' },
    nonce_keys: { kid: 'kid', key: bytes('key') },
    spent_nonces: { nonce: bytes(`nonce ${token}`) },
    rate_limits: { kind: 'orders', subject: account, full_at: now },
    audit: {
      id: newUuid(now),
      actor_kind: 'service',
      actor: 'worker',
      action: 'order.expired',
      object_kind: 'order',
      object_id: order,
    },
  };
}

/** Inserts the rows of these tables, in the order of `exampleRows`; all of them when none is named. */
export async function insertRows(db: Db, rows: Rows, tables?: readonly (keyof Tables)[]): Promise<void> {
  const entries = Object.entries(rows) as [keyof Tables, Insertable<Tables[keyof Tables]>][];
  for (const [table, row] of entries) {
    if (tables?.includes(table) ?? true) await db.insertInto(table).values(row).execute();
  }
}
