// Pebble, which keeps everything in memory. It is told to validate nothing, to refuse no nonce and to reuse no authorization.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../../src/postgres/readiness.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { answers, type BenchServer, responderPorts, startProgram, temporaryFolder } from '../acme/server.ts';

const env = {
  PEBBLE_VA_ALWAYS_VALID: '1',
  PEBBLE_VA_NOSLEEP: '1',
  PEBBLE_WFE_NONCEREJECT: '0',
  PEBBLE_AUTHZREUSE: '0',
};

export async function startPebble(name: string, file: string): Promise<BenchServer> {
  await using opened = new AsyncDisposableStack();
  const folder = await temporaryFolder(opened, 'pebble');
  const serving = selfSigned();
  const port = await freePort();
  const responder = await responderPorts();
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${await freePort()}`,
    certificate: join(folder, 'serving.crt'),
    privateKey: join(folder, 'serving.key'),
    httpPort: responder.http,
    tlsPort: 1,
    keyAlgorithm: 'ecdsa',
    retryAfter: { authz: 1, order: 1 },
    profiles: { default: { description: 'The only one', validityPeriod: 7_776_000 } },
  };
  await writeFile(pebble.certificate, serving.certificate);
  await writeFile(pebble.privateKey, serving.key, { mode: 0o600 });
  await writeFile(join(folder, 'config.json'), JSON.stringify({ pebble }));
  const reached = { directoryUrl: `https://localhost:${port}/dir`, ca: serving.certificate };
  const args = ['-config', join(folder, 'config.json'), '-dnsserver', `127.0.0.1:${responder.dns}`];
  const pid = await startProgram(opened, { file, args, folder, env, isReady: () => answers(reached) });
  const running = opened.move();
  return { name, ...reached, responder, watch: { server: pid }, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
