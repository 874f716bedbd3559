// What GitOps tools see: kstatus, the library by which Flux and others judge objects, on ours in each of their states.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, test, vi } from 'vitest';
import { withoutHelm } from '../support/chart.ts';
import { testCluster } from '../support/cluster.ts';
import { testDatabase } from '../support/database.ts';
import {
  aBinding,
  aDirectory,
  anAcmeKey,
  anIssuing,
  aRoot,
  createAll,
  type Declared,
  live,
  readyOf,
  remove,
  untilReady,
} from '../support/declared-chain.ts';
import { eventually } from '../support/eventually.ts';
import { installOperator } from '../support/installed-operator.ts';
import { findKstatus } from '../support/plane/binaries.ts';

const BUILD_MS = 600_000;
vi.setConfig({ testTimeout: 120_000, hookTimeout: BUILD_MS });

let program: string | Error;
beforeAll(async () => {
  program = await findKstatus((sentence) => console.log(`kstatus: ${sentence}`)).catch((error: Error) => error);
});

type Verdict = { readonly status: string; readonly message: string };

async function verdictsOn(objects: readonly object[]): Promise<readonly Verdict[]> {
  if (program instanceof Error) throw program;
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(objects.map((object) => `${JSON.stringify(object)}\n`).join(''));
  const printed = await text(child.stdout);
  return printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('kstatus says InProgress, Current, Failed and Terminating where we say waiting, ready, stalled and deleting', async ({
  skip,
}) => {
  if (program instanceof Error) skip(program.message);
  const noHelm = withoutHelm();
  if (noHelm !== undefined) skip(noHelm);
  await using cluster = await testCluster();
  await using database = await testDatabase();
  const { admin } = cluster;
  const operator = await installOperator(cluster);
  const statuses = async (objects: readonly Declared[]): Promise<readonly string[]> =>
    (await verdictsOn(await Promise.all(objects.map((object) => live(admin, object))))).map(({ status }) => status);
  const untilReason = (object: Declared, reason: string): Promise<void> =>
    eventually(
      `${object.metadata.name} is ${reason}`,
      async () => readyOf(await live(admin, object))?.reason === reason,
      30_000,
    );

  const chain = [
    aRoot(operator, 'root', { deletionPolicy: 'Delete' }),
    anIssuing(operator),
    aDirectory(operator),
    aBinding(operator),
    anAcmeKey(operator),
  ];
  const [root, , directory] = chain;
  if (root === undefined || directory === undefined) throw new Error('There is no chain.');
  await createAll(admin, chain);
  // Nobody has looked at them yet.
  expect(await statuses(chain)).toEqual(chain.map(() => 'InProgress'));

  await using _ = await operator.serve({ databaseUrl: database.url });
  await untilReady(admin, chain);
  expect(await statuses(chain)).toEqual(chain.map(() => 'Current'));

  const waiting = aDirectory(operator, 'waiting', { signingCertRef: { name: 'absent' } });
  const refused = aDirectory(operator, 'refused', { slug: `${operator.namespace}-web` });
  await createAll(admin, [waiting, refused]);
  await untilReason(waiting, 'DependencyNotReady');
  await eventually('the slug is refused', async () => (await statuses([refused]))[0] === 'Failed', 30_000);
  expect(await statuses([waiting])).toEqual(['InProgress']);

  await remove(admin, root);
  await untilReason(root, 'DeletionBlocked');
  expect(await statuses([root])).toEqual(['Terminating']);
});
