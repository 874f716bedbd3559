// An ACME door on a real TLS socket, over a CA of its own, and clients of it.
import { acmeDoor } from '../../src/acme/door.ts';
import type { AcmeRoute } from '../../src/acme/route.ts';
import { acmeRoutes } from '../../src/acme/routes.ts';
import type { SingleDirectoryView } from '../../src/core/directories.ts';
import { openNonces } from '../../src/core/nonces.ts';
import { OwnWorker } from '../../src/core/own-worker.ts';
import { accountUrl, directoryUrl } from '../../src/core/urls.ts';
import { trustedProxies } from '../../src/http/client-address.ts';
import { mount } from '../../src/http/mount.ts';
import { requestLimiter } from '../../src/http/request-limiter.ts';
import { openListener } from '../../src/http/server.ts';
import { TlsSlot } from '../../src/http/tls-source.ts';
import type { DirectoryCreate } from '../../src/resources/fields.ts';
import { openDatabase } from '../../src/store/database.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { AcmeClient, type AcmeKey, type AcmeTarget, anAcmeKey } from './acme-client.ts';
import { type TestCa, type TestCaOptions, testCa } from './ca.ts';
import { givenAcmeKey } from './given-acme-key.ts';
import { givenDirectory } from './given-directory.ts';
import { selfSigned } from './self-signed.ts';

type DirectoryWish = Partial<Omit<DirectoryCreate, 'signing_cert_id'>> & { readonly issuer?: { readonly id: string } };

export type TestAcmeOptions = TestCaOptions & {
  /** All of the door when absent. */
  readonly routes?: readonly AcmeRoute[];
  readonly publicUrl?: string;
  /** Of the directory; it is open for registration unless this says otherwise. */
  readonly directory?: DirectoryWish;
  /** Runs the worker, too. */
  readonly withWorker?: boolean;
  /** Addresses of proxies that are believed. */
  readonly trusted?: readonly string[];
  /** Of one address; without it there is no limit. */
  readonly limitRequests?: { readonly count: number; readonly perMs: number };
  /** Another replica of this one: on its database, by connections of its own, with its directory. */
  readonly beside?: TestAcme;
};

export type TestAcme = TestCa & {
  readonly port: number;
  /** The one that clients use unless they name another. */
  readonly directory: SingleDirectoryView;
  /** A client of the directory without an account. */
  client(options?: { readonly key?: AcmeKey; readonly kid?: string; readonly slug?: string }): AcmeClient;
  /** A client whose key is registered already, as /v1 registers keys. */
  account(options?: AccountOptions): Promise<AcmeClient & { readonly kid: string; readonly accountId: string }>;
};

type AccountOptions = {
  readonly alg?: AcmeKey['alg'];
  readonly directory?: SingleDirectoryView;
  readonly orderValidations?: 'challenge' | 'auto_approve';
};

/** `await using acme = await testAcme()`. */
export async function testAcme({ beside, ...options }: TestAcmeOptions = {}): Promise<TestAcme> {
  await using opened = new AsyncDisposableStack();
  const base = beside ?? opened.use(await testCa(options));
  const { publicUrl = base.ca.urls.publicUrl } = options;
  const database = beside === undefined ? base.ca.database : opened.use(openDatabase({ url: base.databaseUrl }));
  const ca = { ...base.ca, database, ownWorker: new OwnWorker(), urls: { ...base.ca.urls, publicUrl } };
  const directory =
    beside?.directory ?? (await givenDirectory(ca, { registration_mode: 'open', ...options.directory }));
  const tls = selfSigned();
  const listener = opened.use(
    await openListener({
      setting: 'ACMERY_ACME_LISTEN',
      address: { host: '127.0.0.1', port: 0 },
      door: mount(acmeDoor({ ca, nonces: await openNonces(ca), routes: options.routes ?? acmeRoutes }), {
        events: ca.events,
        trusted: trustedProxies(options.trusted ?? []),
        limitRequests: requestLimiter(options.limitRequests ?? 'off', ca.events),
      }),
      events: ca.events,
      tls: new TlsSlot(tls),
    }),
  );
  if (options.withWorker === true) opened.use(startWorker(ca));
  const { port } = listener.address;

  const clients = opened.use(new DisposableStack());
  const client: TestAcme['client'] = ({ slug = directory.fields.slug, ...who } = {}) => {
    const target: AcmeTarget = { directoryUrl: directoryUrl(ca.urls, slug), port, trust: tls.certificate };
    return clients.use(new AcmeClient(target, who));
  };
  const running = opened.move();
  return {
    ...base,
    ca,
    port,
    directory,
    client,
    async account({ alg, directory: at = directory, orderValidations = 'challenge' } = {}) {
      const key = anAcmeKey(alg);
      const { id } = await givenAcmeKey(ca, at, { public_key: key.publicPem, order_validations: orderValidations });
      const { slug } = at.fields;
      const kid = accountUrl(ca.urls, slug, id);
      return Object.assign(client({ key, kid, slug }), { kid, accountId: id });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
