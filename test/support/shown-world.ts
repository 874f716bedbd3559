// A service that has lived: CA certs in every state, a rollover, orders that failed in several ways, certificates near their
// end, and names that mean harm. What pages for people have to show.
import type { Ca } from '../../src/core/ca.ts';
import { newUuid } from '../../src/core/ids.ts';
import { revokeIssuedCert } from '../../src/core/issued-certs.ts';
import { revokeSigningCert } from '../../src/core/revoke-signing-cert.ts';
import { updateDirectory } from '../../src/core/update-directory.ts';
import type { StoredProblem } from '../../src/store/tables.ts';
import type { TestCa } from './ca.ts';
import { DAY_MS } from './clock.ts';
import { admin } from './given.ts';
import { buildDueCrls } from './given-crl.ts';
import { givenDirectory } from './given-directory.ts';
import { type GivenCert, givenIssuedCert } from './given-issued-cert.ts';
import { type GivenAccount, givenAccount, givenOrder } from './given-order.ts';
import { givenIntermediate, givenRoot, givenSigningCert } from './given-signing-cert.ts';
import { exampleRows } from './rows.ts';

/** Markup, quotes, a right-to-left override: what a name may hold that is meant for a browser. */
export const hostileName = `"><script>alert(1)</script><img src=x onerror=alert(2)>'\u202egnp.exe`;

export type ShownWorld = {
  readonly rootId: string;
  readonly formerId: string;
  readonly currentId: string;
  readonly webId: string;
  readonly hostileId: string;
  readonly account: GivenAccount;
  readonly failedId: string;
  readonly challengedId: string;
  readonly pendingId: string;
  readonly cert: GivenCert;
  readonly revokedCert: GivenCert;
};

export async function givenShownWorld(ca: TestCa['ca']): Promise<ShownWorld> {
  const root = await givenRoot(ca, { name: 'Corp Root', private_key_type: 'ec_384' });
  const former = await givenIntermediate(ca, { parent: root, name: 'Corp Issuing 2025' });
  const web = await givenDirectory(ca, {
    issuer: former,
    name: 'Web servers',
    slug: 'web',
    allowed_dns_identifiers: ['**.corp.example', 'corp.example'],
    allowed_ip_identifiers: ['10.0.0.0/8'],
    cert_max_days: 90,
  });
  const account = await givenAccount(ca, former, web.id);
  const revokedCert = await givenIssuedCert(ca, account, { names: ['old.corp.example'] });
  await revokeIssuedCert(ca, admin, revokedCert.id, 'superseded');
  await givenIssuedCert(ca, account, { names: ['late.corp.example'], validForDays: 66 });
  await givenIssuedCert(ca, account, { names: ['due.corp.example', 'www.due.corp.example'], validForDays: 90 });

  ca.clock.advance(64 * DAY_MS);
  const current = await givenIntermediate(ca, { parent: root, name: 'Corp Issuing 2026' });
  await updateDirectory(ca, admin, web.id, { signing_cert_id: current.id });
  const withdrawn = await givenIntermediate(ca, { parent: root, name: 'Withdrawn Issuing' });
  await revokeSigningCert(ca, admin, withdrawn.id, 'ca_compromise');
  const lab = await givenRoot(ca, { name: 'Lab Root', valid_days: 20 });
  const labIssuing = await givenIntermediate(ca, { parent: lab, name: 'Lab Issuing', valid_days: 19 });
  await givenSigningCert(ca, { cert_type: 'intermediate', name: 'Partner Issuing' });
  await givenDirectory(ca, {
    issuer: labIssuing,
    name: 'Lab',
    slug: 'lab',
    registration_mode: 'open',
    remote_ip_whitelist: ['192.0.2.0/24', '2001:db8::/32'],
  });
  const hostile = await givenDirectory(ca, { issuer: current, name: hostileName, slug: 'hostile' });
  await buildDueCrls(ca);

  const inCurrent = { ...account, signingCertId: current.id };
  const cert = await givenIssuedCert(ca, inCurrent, {
    names: ['shop.corp.example', 'www.shop.corp.example', '10.1.2.3', 'api.shop.corp.example', '*.shop.corp.example'],
  });
  const failedId = await givenFailed(ca, account, {
    type: 'compound',
    detail: 'Two names are outside of what directory web allows.',
    subproblems: [
      {
        type: 'rejectedIdentifier',
        detail: 'Directory web allows names under corp.example; shop.example.org is outside.',
        identifier: { type: 'dns', value: 'shop.example.org' },
      },
      { type: 'rejectedIdentifier', detail: hostileName, identifier: { type: 'dns', value: hostileName } },
    ],
  });
  const challengedId = await givenChallenged(ca, account);
  const pendingId = await givenOrder(ca, account, { identifiers: [{ type: 'dns', value: 'new.corp.example' }] });
  await givenOrder(ca, account, { state: 'ready', identifiers: [{ type: 'ip', value: '10.9.8.7' }] });
  return {
    rootId: root.id,
    formerId: former.id,
    currentId: current.id,
    webId: web.id,
    hostileId: hostile.id,
    account,
    failedId,
    challengedId,
    pendingId,
    cert,
    revokedCert,
  };
}

/** An order that ended with this error. */
export const givenFailed = (ca: Ca, account: GivenAccount, error: StoredProblem, name = 'shop.example.org') =>
  givenOrder(ca, account, {
    state: 'invalid',
    error: JSON.stringify(error),
    identifiers: [{ type: 'dns', value: name }],
  });

/** An order that ended because nobody answered its challenge. */
async function givenChallenged(ca: Ca, account: GivenAccount): Promise<string> {
  const { db } = ca.database;
  const now = ca.clock.now();
  const tries = ['refused the connection', 'answered 404 in the place of 200'].map((what) => ({
    type: 'connection',
    detail: `http://blog.corp.example/.well-known/acme-challenge/token: 192.0.2.7 ${what}.`,
  }));
  const [, last = { type: 'connection', detail: '' }] = tries;
  const orderId = await givenFailed(
    ca,
    account,
    { ...last, subproblems: [{ ...last, identifier: { type: 'dns', value: 'blog.corp.example' } }] },
    'blog.corp.example',
  );
  const rows = exampleRows();
  const authorizationId = newUuid(now);
  const expires_at = new Date(now.getTime() + DAY_MS);
  const authorization = { ...rows.authorizations, id: authorizationId, acme_key_id: account.acmeKeyId, expires_at };
  await db
    .insertInto('authorizations')
    .values({ ...authorization, state: 'invalid', validated_at: null, value: 'blog.corp.example', auto: false })
    .execute();
  await db
    .insertInto('challenges')
    .values({
      id: newUuid(now),
      authorization_id: authorizationId,
      type: 'http-01',
      state: 'invalid',
      token: 'token',
      error: JSON.stringify({ ...last, subproblems: tries }),
      attempts: 4,
    })
    .execute();
  await db
    .insertInto('order_authorizations')
    .values({ order_id: orderId, authorization_id: authorizationId, position: 0 })
    .execute();
  return orderId;
}
