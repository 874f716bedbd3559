// Takes one client through the scenarios against a fresh server, and says what came of each.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApplicant } from './applicant.ts';
import type { Client, Session, Tool } from './client.ts';
import { type Scenario, scenarios } from './scenarios.ts';
import type { AcmeServer, ServerKind } from './server.ts';

export type Outcome = {
  readonly scenario: string;
  readonly result: 'ok' | 'failed';
  readonly seconds: number;
  readonly error?: string;
};

const accounts = ['challenge', 'auto_approve', 'recipe'] as const satisfies readonly Scenario['account'][];

/** Calls `tell` with each outcome as it comes. */
export async function journey(
  client: Client,
  tool: Tool,
  kind: ServerKind,
  tell: (outcome: Outcome) => void,
): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'acmery-e2e-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const applicant = opened.use(await openApplicant());
  const serverFolder = join(folder, 'server');
  await mkdir(serverFolder);
  const server = opened.use(await kind.start(serverFolder, applicant));
  for (const account of accounts) {
    const eab = await pairOf(server, account);
    if (eab === undefined) continue;
    const accountFolder = join(folder, account);
    await mkdir(accountFolder);
    const { directoryUrl, caFile, registerKey } = server;
    const session = await tool.open({
      directoryUrl,
      caFile,
      eab,
      applicant,
      folder: accountFolder,
      ...(registerKey !== undefined && {
        registerKey: (publicKey) => registerKey(publicKey, account === 'challenge' ? 'challenge' : 'auto_approve'),
      }),
    });
    // Without EAB it cannot come in where keys are not made known.
    if (session.registerKey !== undefined && registerKey === undefined) continue;
    await play(client, session, server, account, tell);
  }
}

const pairOf = (server: AcmeServer, account: Scenario['account']) =>
  account === 'challenge' ? server.eab() : server.autoEab?.();

async function play(
  client: Client,
  session: Session,
  server: AcmeServer,
  account: Scenario['account'],
  tell: (outcome: Outcome) => void,
): Promise<void> {
  const held = new Map();
  for (const scenario of scenarios) {
    if (scenario.account !== account || !scenario.isFor(client, session)) continue;
    const begun = performance.now();
    const error = await scenario.play({ session, server, held }).then(() => undefined, textOf);
    const seconds = (performance.now() - begun) / 1_000;
    tell({
      scenario: scenario.name,
      seconds,
      ...(error === undefined ? { result: 'ok' } : { result: 'failed', error }),
    });
    // Without its account it can do nothing else.
    if (error !== undefined && scenario.isRegistration) return;
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
