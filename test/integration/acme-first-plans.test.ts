// The plans that a new installation makes at its first order and keeps: each row is found by its key, as it has to be when
// there are very many.
import pg from 'pg';
import { beforeAll, expect, test, vi } from 'vitest';
import { certIdText } from '../../src/core/cert-id.ts';
import { validateChallenge } from '../../src/core/validate-challenge.ts';
import type { ChallengeClaim } from '../../src/store/challenge-results.ts';
import { PLANNER_OPTIONS } from '../../src/store/pool.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { testAcme } from '../support/acme.ts';
import { aRequest, dns } from '../support/given-ready-order.ts';

const MINUTE_MS = 60_000;
const NAME = 'shop.corp.example';

type Scan = { readonly table: string; readonly index: string; readonly condition: string };
type Planned = { readonly statement: string; readonly scans: readonly Scan[] };

/** Indexes, and what is asked of each: their first columns. Other primary keys are ids. */
const ways: Readonly<Record<string, RegExp>> = {
  acme_keys_thumbprint_key: /^\(thumbprint = /,
  authorizations_reuse_idx: /^\(\(ROW\(acme_key_id, \(type\)::text, value, wildcard, expires_at\)/,
  challenges_authorization_type_key: /^\(+authorization_id = /,
  crls_pkey: /^\(signing_cert_id = /,
  directory_slugs_directory_id_idx: /^\(directory_id = /,
  directory_slugs_slug_key: /^\(slug = /,
  issued_certs_key_thumbprint_idx: /^\(key_thumbprint = /,
  issued_certs_serial_key: /^\(serial = /,
  order_authorizations_authorization_id_idx: /^\(authorization_id = /,
  order_authorizations_pkey: /^\(+order_id = /,
  rate_limits_pkey: /^\(+kind = /,
  revocations_pkey: /^\(+signing_cert_id = /,
  signing_certs_ski_idx: /^\(ski = /,
  spent_nonces_pkey: /^\(+nonce = /,
  used_keys_pkey: /^\(thumbprint = /,
};
const byId = /^\(id = /;

/** Tables that never have more than a row. */
const single = ['nonce_keys'];

let planned: readonly Planned[];
beforeAll(async () => {
  await using acme = await testAcme({
    prober: async () => ({ outcome: 'valid' }),
    caa: async (name) => name.split('.').map((_, at, labels) => ({ name: labels.slice(at).join('.'), records: [] })),
  });
  const { ca } = acme;
  const { signal } = new AbortController();
  const fill = async (claiming: Promise<ChallengeClaim | undefined>) => {
    const claim = await claiming;
    return claim && validateChallenge(ca, claim, signal);
  };
  using _employed = ca.ownWorker.employ(() => ({ leaseMs: MINUTE_MS, fill }));
  const texts = new Set<string>();
  const query = vi.spyOn(pg.Client.prototype, 'query');
  const client = acme.client();
  await client.register();
  const { json: order, headers } = await client.newOrder([NAME]);
  const { challenges } = (await client.post(order.authorizations[0])).json;
  await client.post(challenges.find(({ type }: { type: string }) => type === 'http-01').url, {});
  expect((await client.post(headers.location ?? '')).json.status).toBe('ready');
  const done = await client.finalize(order, await aRequest({ names: [dns(NAME)] }));
  const certificate = await client.post(done.json.certificate, '', { headers: { Accept: 'application/pkix-cert' } });
  const { serial, extensions } = parseCertificate(certificate.bytes);
  const keyIdentifier = extensions.authorityKeyIdentifier ?? expect.fail('it has no AKI');
  const certId = certIdText({ keyIdentifier, serial });
  expect((await client.get(`${await client.url('renewalInfo')}/${certId}`)).status).toBe(200);
  const renewed = await client.newOrder([NAME], { replaces: certId });
  expect(renewed.status).toBe(201);
  const revocation = { certificate: certificate.bytes.toString('base64url'), reason: 4 };
  const left = await client.newOrder(['left.corp.example']);
  const answers = [
    await client.post(await client.url('revokeCert'), revocation),
    await client.post(client.kid ?? '', { contact: ['mailto:ops@corp.example'] }),
    await client.post(left.json.authorizations[0], { status: 'deactivated' }),
    await client.register({ onlyReturnExisting: true }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const [sent] of query.mock.calls) if (isQuery(sent)) texts.add(sent.text);
  query.mockRestore();
  planned = await plansOf(acme.databaseUrl, texts);
});

test('every statement of a client, from its registration to a revocation, finds each row by its key', () => {
  const others = planned.flatMap(({ statement, scans }) =>
    scans.filter((scan) => !isByKey(scan)).map((scan) => ({ ...scan, statement: statement.trim().slice(0, 80) })),
  );
  expect(others).toEqual([]);
  expect(planned.length).toBeGreaterThan(12);
});

function isByKey({ table, index, condition }: Scan): boolean {
  const way = ways[index] ?? (index.endsWith('_pkey') ? byId : undefined);
  return single.includes(table) || way?.test(condition) === true;
}

async function plansOf(url: string, texts: Iterable<string>): Promise<readonly Planned[]> {
  const client = new pg.Client({ connectionString: url, options: PLANNER_OPTIONS });
  await client.connect();
  try {
    const plans: Planned[] = [];
    for (const statement of texts) {
      const nulls = parametersOf(statement).map(() => 'null');
      await client.query(`prepare first as ${statement}`);
      const { rows } = await client.query(`explain (format json) execute first(${nulls.join(', ')})`);
      await client.query('deallocate first');
      plans.push({ statement, scans: scansOf(rows[0]['QUERY PLAN'][0].Plan) });
    }
    return plans;
  } finally {
    await client.end();
  }
}

const parametersOf = (statement: string): readonly string[] => [...new Set(statement.match(/\$\d+/g))];

type Node = {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Node[];
};

/** Of tables; one without an index has none here. */
const scansOf = (node: Node): readonly Scan[] => [
  ...(/^(Index|Index Only|Seq) Scan$/.test(node['Node Type'])
    ? [{ table: node['Relation Name'] ?? '', index: node['Index Name'] ?? '', condition: node['Index Cond'] ?? '' }]
    : []),
  ...(node.Plans ?? []).flatMap(scansOf),
];

/** Statements with values: of these a connection keeps the plan. */
const isQuery = (sent: unknown): sent is { readonly text: string } =>
  typeof sent === 'object' && sent !== null && 'text' in sent && 'name' in sent;
