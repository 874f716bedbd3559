// A process with worker and publication door over a CA that has revoked many certificates: builds its CRL some times, then
// revokes and waits until that is served. Arguments: the URL of the database, the folder of its keys, how many revocations.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { Ca } from '../../../src/core/ca.ts';
import { claimCrls, refreshCrl } from '../../../src/core/crls.ts';
import { formatId } from '../../../src/core/ids.ts';
import { revokeIssuedCert } from '../../../src/core/issued-certs.ts';
import { publishCrls } from '../../../src/core/revoke.ts';
import { ensureWrapKey } from '../../../src/core/secret-box.ts';
import { trustedProxies } from '../../../src/http/client-address.ts';
import { mount } from '../../../src/http/mount.ts';
import { openListener } from '../../../src/http/server.ts';
import { openFileKeyStore } from '../../../src/keys/file-key-store.ts';
import { publishDoor } from '../../../src/publish/door.ts';
import { publishRoutes } from '../../../src/publish/routes.ts';
import { openDatabase } from '../../../src/store/database.ts';
import { createEvents } from '../../../src/telemetry/events.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { startWorker } from '../../../src/worker/worker.ts';
import { aloneCa } from '../../support/ca.ts';
import { admin } from '../../support/given.ts';
import { givenIssuedCert } from '../../support/given-issued-cert.ts';
import { givenAccount } from '../../support/given-order.ts';
import { givenRoot } from '../../support/given-signing-cert.ts';
import type { CrlBuild, CrlFigures } from './figures.ts';
import { seedRevocations } from './seed.ts';

const BUILDS = 5;
const REVOCATIONS = 10;
const POLL_MS = 5;

const [url = '', keysFolder = '', count = ''] = process.argv.slice(2);
const now = () => new Date();
await using database = openDatabase({ url, statementTimeoutMs: 600_000 });
const events = createEvents(createLog({ level: 'error', format: 'json' }), createMetrics());
const ca: Ca = {
  ...aloneCa,
  database,
  events,
  keys: await openFileKeyStore(keysFolder),
  clock: { now, signingTime: now },
  urls: { publicUrl: 'https://localhost', httpUrl: 'http://localhost' },
};
await ensureWrapKey(ca);
const issuer = await givenRoot(ca);
const account = await givenAccount(ca, issuer);
await seedRevocations(database.db, issuer.id, Number(count));

const builds: CrlBuild[] = [];
for (let run = 0; run < BUILDS; run++) builds.push(await build());
const { revokeMs, servedMs, bytes } = await revocations();
const mostMemoryMb = process.resourceUsage().maxRSS / 1024;
console.log(JSON.stringify({ builds, bytes, revokeMs, servedMs, mostMemoryMb } satisfies CrlFigures));

/** Nothing else runs in this process meanwhile. */
async function build(): Promise<CrlBuild> {
  await publishCrls(ca, [issuer.id]);
  await pause(400);
  const [claim] = await claimCrls(ca, 1, 60_000);
  if (claim === undefined) throw new Error('the CRL is not due');
  const turns = monitorEventLoopDelay({ resolution: 1 });
  turns.enable();
  const [begun, before, cpu] = [performance.now(), performance.eventLoopUtilization(), process.threadCpuUsage()];
  await refreshCrl(ca, claim);
  const { user, system } = process.threadCpuUsage(cpu);
  const { active } = performance.eventLoopUtilization(before);
  turns.disable();
  const longestMs = turns.max / 1e6;
  return { cpuMs: (user + system) / 1000, activeMs: active, longestMs, wallMs: performance.now() - begun };
}

async function revocations(): Promise<Pick<CrlFigures, 'revokeMs' | 'servedMs' | 'bytes'>> {
  const [revoked, served]: [number[], number[]] = [[], []];
  await using listener = await openListener({
    setting: 'ACMERY_HTTP_LISTEN',
    address: { host: '127.0.0.1', port: 0 },
    door: mount(publishDoor({ ca, routes: publishRoutes }), { events, trusted: trustedProxies([]) }),
    events,
  });
  await using _worker = startWorker(ca);
  const address = `${listener.url}/crl/${formatId('scrt', issuer.id)}.crl`;
  let tag = '';
  let bytes = 0;
  const readNext = async (): Promise<void> => {
    for (;;) {
      const reply = await fetch(address, { headers: { 'If-None-Match': tag } });
      const body = await reply.arrayBuffer();
      if (reply.status === 200) {
        tag = reply.headers.get('etag') ?? '';
        bytes = body.byteLength;
        return;
      }
      await pause(POLL_MS);
    }
  };
  await readNext();
  for (let run = 0; run < REVOCATIONS; run++) {
    const { id } = await givenIssuedCert(ca, account);
    const begun = performance.now();
    await revokeIssuedCert(ca, admin, id, 'key_compromise');
    revoked.push(performance.now() - begun);
    await readNext();
    served.push(performance.now() - begun);
  }
  return { revokeMs: revoked, servedMs: served, bytes };
}
