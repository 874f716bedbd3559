// A server in a process of its own, which a test kills in the middle of its work: finalizes the orders that it is told.
// Arguments: the URL of the database, the folder of the keys, the time, slug and account. Standard input: id and name of
// an order a line. Prints a line for each order that it has answered.
import { text } from 'node:stream/consumers';
import { openFileKeyStore } from '../../src/keys/file-key-store.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { aloneCa } from './ca.ts';
import { testClock } from './clock.ts';
import { applicantOf } from './given-applicant.ts';
import { aRequest, dns, finalize } from './given-ready-order.ts';

const [url = '', folder = '', now = '', slug = '', accountId = ''] = process.argv.slice(2);
const AT_ONCE = 20;

const ca = {
  ...aloneCa,
  database: openDatabase({ url }),
  keys: await openFileKeyStore(folder),
  clock: testClock(new Date(now)),
  urls: { publicUrl: 'https://acme.corp.example', httpUrl: 'http://pki.corp.example' },
  events: createEvents(createLog({ level: 'silent', format: 'json' }), createMetrics()),
};
const applicant = await applicantOf(ca, { slug, accountId });
const lines = (await text(process.stdin)).trim().split('\n').values();
const work = async (): Promise<void> => {
  for (const line of lines) {
    const [id = '', name = ''] = line.split(' ');
    const csr = await aRequest({ names: [dns(name)] });
    const answer = await finalize(ca, applicant, { id }, csr).then(
      ({ state }) => state,
      ({ type }: { type?: string }) => type,
    );
    console.log(`${id} ${answer}`);
  }
};
await Promise.all(Array.from({ length: AT_ONCE }, work));
await ca.database.close();
