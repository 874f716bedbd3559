// step-ca with a root, an intermediate and one ACME provisioner, as `step ca init --acme` sets it up, on P-256.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../src/postgres/readiness.ts';
import { foreignCa } from '../../support/foreign-ca.ts';
import {
  answers,
  type BenchServer,
  benchPostgres,
  responderPorts,
  startProgram,
  temporaryFolder,
} from '../acme/server.ts';

/** `badger` is what it embeds; `postgres` a server of its own. */
export type StepCaStore = 'badger' | 'postgres';

export async function startStepCa(name: string, file: string, store: StepCaStore): Promise<BenchServer> {
  await using opened = new AsyncDisposableStack();
  const folder = await temporaryFolder(opened, 'step-ca');
  const database = store === 'postgres' ? await benchPostgres(opened, folder) : undefined;
  const root = await foreignCa();
  const intermediate = await foreignCa({ parent: root, pathLength: 0 });
  const port = await freePort();
  const responder = await responderPorts();
  const badger = join(folder, 'db');
  const config = {
    root: join(folder, 'root.crt'),
    crt: join(folder, 'intermediate.crt'),
    key: join(folder, 'intermediate.key'),
    address: `127.0.0.1:${port}`,
    dnsNames: ['localhost'],
    logger: { format: 'text' },
    db:
      database === undefined
        ? { type: 'badgerv2', dataSource: badger, badgerFileLoadingMode: '' }
        : { type: 'postgresql', dataSource: plainUrl(database.url), database: 'stepca' },
    authority: { provisioners: [{ type: 'ACME', name: 'acme' }] },
  };
  await writeFile(config.root, root.publicCert);
  await writeFile(config.crt, intermediate.publicCert);
  await writeFile(config.key, intermediate.privateKey, { mode: 0o600 });
  await writeFile(join(folder, 'ca.json'), JSON.stringify(config));
  const reached = { directoryUrl: `https://localhost:${port}/acme/acme/directory`, ca: root.publicCert };
  const loopback = ['--insecure', '--acme-http-port', `${responder.http}`, '--resolver', `127.0.0.1:${responder.dns}`];
  const pid = await startProgram(opened, {
    file,
    args: [...loopback, join(folder, 'ca.json')],
    folder,
    isReady: () => answers(reached),
  });
  const running = opened.move();
  return {
    name,
    ...reached,
    responder,
    watch: { server: pid, ...(database && { postgres: database.pid }) },
    ...(database === undefined
      ? { dataFolder: badger }
      : { database: { ...database, url: inDatabase(database.url, 'stepca') } }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Its driver knows no `require_auth`. */
function plainUrl(url: string): string {
  const plain = new URL(url);
  plain.searchParams.delete('require_auth');
  return plain.href;
}

function inDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}
