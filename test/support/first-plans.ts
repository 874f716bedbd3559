// The plans that a new installation makes when it first sends a statement, while its tables are empty, and keeps.
import pg from 'pg';
import { vi } from 'vitest';
import { PLANNER_OPTIONS } from '../../src/store/pool.ts';

export type Scan = { readonly table: string; readonly index: string; readonly condition: string };
export type FirstPlan = { readonly statement: string; readonly scans: readonly Scan[] };

/** Indexes, and what is asked of each. */
export type Ways = Readonly<Record<string, RegExp>>;

/** Those that ACME clients need: each by the first columns of a key, or of what has few rows for each of its values. */
export const keyedWays: Ways = {
  acme_keys_thumbprint_key: /^\(thumbprint = /,
  authorizations_reuse_idx: /^\(\(ROW\(acme_key_id, type, value, wildcard, expires_at\)/,
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

/** Those of /v1 and of declared objects, too: what belongs to a CA cert, a directory or an account. */
export const managedWays: Ways = {
  ...keyedWays,
  directories_list_signing_cert_name_idx: /^\(signing_cert_id = /,
  external_bindings_list_unused_name_idx: /^\(directory_id = /,
  issued_certs_list_signing_cert_expiry_idx: /^\(\(signing_cert_id = .* AND \(not_after > /,
  orders_list_acme_key_state_idx: /^\(\(acme_key_id = .* AND \(state = /,
  orders_signing_cert_in_use_idx: /^\(signing_cert_id = /,
  signing_certs_list_parent_idx: /^\(parent_id = /,
  signing_certs_subject_idx: /^\(sha256\(subject_der\) = /,
};
const byId = /^\(id = /;

/** Tables that never have more than a row. */
const single = ['nonce_keys'];

/** The plans of all statements that the work sends, over whatever connection. */
export async function firstPlansOf(url: string, work: () => Promise<unknown>): Promise<readonly FirstPlan[]> {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  const texts = new Set<string>();
  try {
    await work();
    for (const sent of query.mock.calls) texts.add(keptText(sent) ?? '');
  } finally {
    query.mockRestore();
  }
  texts.delete('');
  return plansOf(url, texts);
}

/** A scan that is meant though no key leads to what it reads, in the statement with these words. */
export type Walk = Omit<Scan, 'table'> & { readonly words: string };

/** Those for /v1 and for declared objects. */
export const meantWalks: readonly Walk[] = [
  // All that the account has, whose end it is.
  { words: 'update authorizations set state', index: 'authorizations_reuse_idx', condition: '(acme_key_id = $2)' },
  // What is being tried at this moment, of all accounts.
  { words: 'update challenges set state', index: 'challenges_due_idx', condition: '' },
];

/** What neither a way leads to nor is meant. Other primary keys are ids. */
export const scansBesides = (
  plans: readonly FirstPlan[],
  ways: Ways,
  walks: readonly Walk[] = [],
): readonly (Scan & { readonly statement: string })[] =>
  plans.flatMap(({ statement: text, scans }) => {
    const statement = text.trim().replaceAll(/\s+/g, ' ');
    // Each is meant once: a second scan of its kind is not.
    const meant = walks.filter(({ words }) => statement.includes(words));
    return scans
      .filter((scan) => !isOneOf(ways, scan) && !takeFrom(meant, scan))
      .map((scan) => ({ ...scan, statement: statement.slice(0, 200) }));
  });

function takeFrom(walks: Walk[], scan: Scan): boolean {
  const at = walks.findIndex(({ index, condition }) => scan.index === index && scan.condition === condition);
  return at >= 0 && walks.splice(at, 1).length > 0;
}

function isOneOf(ways: Ways, { table, index, condition }: Scan): boolean {
  const way = ways[index] ?? (index.endsWith('_pkey') ? byId : undefined);
  return single.includes(table) || way?.test(condition) === true;
}

/** Of a statement with values: a connection keeps its plan. Others have none, or are planned each time. */
function keptText([sent, values]: readonly unknown[]): string | undefined {
  if (typeof sent === 'string') return Array.isArray(values) && values.length > 0 ? sent : undefined;
  return isNamed(sent) ? sent.text : undefined;
}

const isNamed = (sent: unknown): sent is { readonly text: string } =>
  typeof sent === 'object' && sent !== null && 'text' in sent && 'name' in sent;

async function plansOf(url: string, texts: Iterable<string>): Promise<readonly FirstPlan[]> {
  const client = new pg.Client({ connectionString: url, options: PLANNER_OPTIONS });
  await client.connect();
  try {
    const plans: FirstPlan[] = [];
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
    ? [{ table: node['Relation Name'] ?? '', index: node['Index Name'] ?? '', condition: conditionOf(node) }]
    : []),
  ...(node.Plans ?? []).flatMap(scansOf),
];

/** A column whose type is a domain is shown as what it is compared as: `(state)::text`. */
const conditionOf = (node: Node): string => (node['Index Cond'] ?? '').replaceAll(/\((\w+)\)::text\b(?!\[)/g, '$1');
