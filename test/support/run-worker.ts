// A worker in a process of its own, which a test kills in the middle of its work: removing a key never ends here.
// Arguments: the URL of the database, the time. Prints a line when it has begun.
import { OwnWorker } from '../../src/core/own-worker.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { DAY_MS, testClock } from './clock.ts';

const [url = '', now = ''] = process.argv.slice(2);
const unused = () => Promise.reject(new Error('This worker only removes keys.'));

startWorker({
  database: openDatabase({ url }),
  clock: testClock(new Date(now)),
  urls: { publicUrl: 'https://acme.corp.example', httpUrl: 'http://pki.corp.example' },
  caa: unused,
  limits: { orders: 'off', accounts: 'off', failures: 'off' },
  retention: { ordersMs: DAY_MS, expiredCertsMs: DAY_MS, auditMs: DAY_MS },
  prober: unused,
  directoriesComeLater: false,
  ownWorker: new OwnWorker(),
  events: createEvents(createLog({ level: 'silent', format: 'json' }), createMetrics()),
  keys: {
    nameOf: String,
    createOnce: unused,
    find: unused,
    read: () => Promise.resolve(undefined),
    signer: unused,
    sealer: unused,
    createSealer: unused,
    list: unused,
    remove: (ref) => {
      console.log(ref);
      return new Promise(() => {});
    },
  },
});
