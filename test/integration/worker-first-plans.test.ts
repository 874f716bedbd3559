// The plans that a worker makes on a new installation and keeps: what it takes is found by when it is due, or by its key.
import { beforeAll, expect, test } from 'vitest';
import type { Ca } from '../../src/core/ca.ts';
import { deleteSigningCert } from '../../src/core/delete-signing-cert.ts';
import { revokeIssuedCert } from '../../src/core/issued-certs.ts';
import { newOrder } from '../../src/core/new-order.ts';
import { challengeTask, dueTasks, duties } from '../../src/worker/tasks.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { DAY_MS } from '../support/clock.ts';
import { type FirstPlan, firstPlansOf, keyedWays, scansBesides, type Walk, type Ways } from '../support/first-plans.ts';
import { admin } from '../support/given.ts';
import { givenApplicant } from '../support/given-applicant.ts';
import { givenClient, givenResponded } from '../support/given-challenge.ts';
import { aRequest, dns, finalize, givenReadyOrder, permissive } from '../support/given-ready-order.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';

const MINUTE_MS = 60_000;

/** What is due or has ended, the oldest first and so many at a time, and what belongs to one that was found. */
const ways: Ways = {
  ...keyedWays,
  authorizations_expires_at_idx: /^\(\(expires_at >= \$1\) AND \(expires_at <=? \$3\)\)$/,
  challenges_due_idx: /^\(due_at <= /,
  crls_due_idx: /^\(due_at <= /,
  issued_cert_names_pkey: /^\(\(name = .* AND \(issued_cert_id = /,
  issued_certs_list_signing_cert_expiry_idx: /^\(\(signing_cert_id = .* AND \(not_after < /,
  issued_certs_revoked_not_after_idx: /^\(not_after < /,
  ocsp_signers_due_idx: /^\(due_at <= /,
  ocsp_signers_signing_cert_idx: /^\(+signing_cert_id = /,
  orders_due_idx: /^\(due_at <= /,
  orders_open_expires_at_idx: /^\(expires_at <= /,
  pg_class_oid_index: /^\(oid = /,
  pg_inherits_parent_index: /^\(inhparent = /,
  rate_limits_pkey: /^\((\(kind = |ROW\(kind, subject\) > )/,
  revocations_changed_at_idx: /^\(\(signing_cert_id = .* AND \(changed_at > /,
  service_state_pkey: /^\(key = /,
  signing_certs_key_due_idx: /^\(key_due_at <= /,
  spent_nonces_pkey: /^\(+nonce [=<] /,
};
const walks: readonly Walk[] = [
  // Duties of a minute that look at every CA cert: people make them, and few.
  { words: 'select "id", "subject", "parent_id" from "signing_certs"', index: 'signing_certs_list_idx', condition: '' },
  { words: 'with hurried as', index: 'signing_certs_pkey', condition: '' },
  { words: 'not exists (select from ocsp_signers', index: 'signing_certs_list_idx', condition: '' },
  { words: 'insert into crls', index: 'signing_certs_list_idx', condition: '' },
  // What is being tried at this moment.
  { words: 'update challenges set state', index: 'challenges_due_idx', condition: '' },
  // In the order of creation, so many at a time.
  { words: 'delete from orders', index: 'orders_pkey', condition: '((id > $1) AND (id < $2))' },
  // All that the last CRL of a CA is made of.
  { words: 'max(not_after) as end', index: 'revocations_changed_at_idx', condition: '(signing_cert_id = $1)' },
];

/** Tasks that had something to do. */
const taken = new Set<string>();
let plans: readonly FirstPlan[];
beforeAll(async () => {
  await using given = await testCa({
    prober: async () => ({ outcome: 'valid' }),
    caa: async (name) => [{ name, records: [] }],
  });
  await begun(given);
  plans = await firstPlansOf(given.databaseUrl, () => round(given));
});

test('every statement of a worker finds each row by when it is due, or by its key', () => {
  expect(scansBesides(plans, ways, walks)).toEqual([]);
  expect(plans.length).toBeGreaterThan(30);
});

test('every task had something to do', () => {
  expect([...taken].sort()).toEqual([...dueTasks, challengeTask].map(({ name }) => name).sort());
});

async function begun({ ca }: TestCa): Promise<void> {
  const issuer = await givenIntermediate(ca, { parent: await givenRoot(ca) });
  await deleteSigningCert(ca, admin, (await givenRoot(ca, { name: 'Left' })).id);
  const applicant = await givenApplicant(ca, { ...permissive, issuer });
  const order = await givenReadyOrder(ca, applicant);
  const { issuedCertId = '' } = await finalize(ca, applicant, order, await aRequest());
  await revokeIssuedCert(ca, admin, issuedCertId, 'superseded');
  await newOrder(ca, applicant, { identifiers: [dns('left.corp.example')] });
  await givenResponded(ca, await givenClient(ca), [{ responded: ['http-01'] }]);
  const stuck = await givenReadyOrder(ca, applicant, { identifiers: [dns('stuck.corp.example')] });
  expect(
    await finalize(withoutSignatures(ca), applicant, stuck, await aRequest({ names: [dns('stuck.corp.example')] })),
  ).toMatchObject({
    state: 'processing',
  });
}

/** Its keys are there, and fail. */
const withoutSignatures = (ca: Ca): Ca => ({
  ...ca,
  keys: {
    ...ca.keys,
    signer: async (ref) => ({ ...(await ca.keys.signer(ref)), sign: () => Promise.reject(new Error('no signature')) }),
  },
});

async function round({ ca }: TestCa): Promise<void> {
  const { signal } = new AbortController();
  for (const days of [0, 40, 1_000]) {
    ca.clock.advance(days * DAY_MS);
    // What makes partitions names each month in its texts, and is planned anew.
    for (const duty of duties.filter(({ name }) => name !== 'audit_partitions')) await duty.run(ca, signal);
    for (const task of [...dueTasks, challengeTask]) {
      for (const claim of await task.claim(ca, 10, MINUTE_MS)) {
        taken.add(task.name);
        await task.run(ca, claim, signal);
        await task.postpone(ca, claim, ca.clock.now());
      }
    }
  }
}
