// A server in a process of its own that revokes one certificate, for a test that kills it in the middle.
// Arguments: the URL of the database, the time, the uuid of the certificate.
import { revokeIssuedCert } from '../../src/core/issued-certs.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { aloneCa } from './ca.ts';
import { testClock } from './clock.ts';
import { admin } from './given.ts';

const [url = '', now = '', id = ''] = process.argv.slice(2);
const unused = () => Promise.reject(new Error('This process has no keys.'));

await revokeIssuedCert(
  {
    ...aloneCa,
    database: openDatabase({ url, applicationName: 'revoking', lockTimeoutMs: 0 }),
    clock: testClock(new Date(now)),
    urls: { publicUrl: 'https://acme.corp.example', httpUrl: 'http://pki.corp.example' },
    events: createEvents(createLog({ level: 'silent', format: 'json' }), createMetrics()),
    keys: {
      nameOf: String,
      createOnce: unused,
      find: unused,
      read: unused,
      signer: unused,
      sealer: unused,
      createSealer: unused,
      list: unused,
      remove: unused,
    },
  },
  admin,
  id,
  'superseded',
);
