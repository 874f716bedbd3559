// Let's Encrypt's test server, to tell a fault of the scenarios from a fault of ours.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import { eventually } from '../../support/eventually.ts';
import { fetchGoTool } from '../fetch.ts';
import { freePort } from '../free-port.ts';
import { run, start } from '../run.ts';
import type { AcmeServer, ServerKind, Validation } from '../server.ts';

const DAYS = 30;
const ACCOUNTS = 8;

export const pebble: ServerKind = { name: 'pebble', start: startPebble };

async function startPebble(folder: string, { httpPort, tlsPort, resolver }: Validation): Promise<AcmeServer> {
  const program = await fetchGoTool({
    module: 'github.com/letsencrypt/pebble/v2',
    version: 'v2.10.1',
    command: 'cmd/pebble',
    name: 'pebble',
  });
  const [port, managementPort] = [await freePort(), await freePort()];
  const [certificate, privateKey] = [join(folder, 'tls.pem'), join(folder, 'tls-key.pem')];
  await selfSigned(certificate, privateKey);
  const pairs = Array.from({ length: ACCOUNTS }, (_, index) => ({
    kid: `pair-${index}`,
    hmac: randomBytes(32).toString('base64url'),
  }));
  const config = join(folder, 'pebble.json');
  const settings = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate,
    privateKey,
    httpPort,
    tlsPort,
    externalAccountBindingRequired: true,
    externalAccountMACKeys: Object.fromEntries(pairs.map(({ kid, hmac }) => [kid, hmac])),
    profiles: { default: { description: 'the only one', validityPeriod: DAYS * 86_400 } },
    retryAfter: { authz: 1, order: 1 },
  };
  await writeFile(config, JSON.stringify({ pebble: settings }));
  const running = start({
    program,
    args: ['-config', config, '-dnsserver', resolver],
    env: { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0' },
  });
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const ask = (path: string) => fetch(`https://localhost:${managementPort}${path}`, { dispatcher });
  await eventually('pebble answers', async () => {
    running.mustRun();
    return ask('/roots/0').then(
      ({ ok }) => ok,
      () => false,
    );
  });
  const rootFile = join(folder, 'root.pem');
  await writeFile(rootFile, await (await ask('/roots/0')).text());
  const unused = [...pairs];
  return {
    directoryUrl: `https://localhost:${port}/dir`,
    caFile: certificate,
    rootFile,
    defaultDays: DAYS,
    async eab() {
      const pair = unused.pop();
      if (pair === undefined) throw new Error(`pebble was started with ${ACCOUNTS} EAB pairs, and all are used`);
      return pair;
    },
    async isRevoked(serial) {
      const reply = await ask(`/cert-status-by-serial/${serial}`);
      return JSON.parse(await reply.text()).Status === 'Revoked';
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await dispatcher.close();
    },
  };
}

async function selfSigned(certificate: string, privateKey: string): Promise<void> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', privateKey];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  await run({ program: 'openssl', args: ['req', '-x509', ...key, ...name, '-days', '2', '-out', certificate] });
}
