// The listeners of the server role: ACME, the management interface, and what relying parties read.
import { acmeDoor } from '../acme/door.ts';
import { acmeRoutes } from '../acme/routes.ts';
import { authenticator, type Credentials } from '../api/authenticate.ts';
import { apiDoor } from '../api/door.ts';
import type { CallerReview } from '../api/ports.ts';
import { apiRoutes } from '../api/routes.ts';
import type { Settings } from '../config/settings.ts';
import type { Ca } from '../core/ca.ts';
import { openNonces } from '../core/nonces.ts';
import { type MountOptions, mount } from '../http/mount.ts';
import { requestLimiter } from '../http/request-limiter.ts';
import { type Listener, openListener } from '../http/server.ts';
import type { TlsSource } from '../http/tls-source.ts';
import { publishDoor } from '../publish/door.ts';
import { publishRoutes } from '../publish/routes.ts';
import { withUi } from '../ui/door.ts';
import { version } from '../version.ts';

export type Doors = { readonly acme: Listener; readonly api: Listener; readonly http: Listener };

export type DoorsOptions = {
  readonly settings: Settings;
  readonly ca: Ca;
  readonly tls: TlsSource;
  readonly review: CallerReview | undefined;
  readonly mounting: MountOptions;
  /** Is told each listener as it opens. */
  readonly opened: (listener: Listener) => void;
};

export async function openDoors({ settings, ca, tls, review, mounting, opened }: DoorsOptions): Promise<Doors> {
  const { events } = ca;
  const { bootstrapToken } = settings;
  const limited = { ...mounting, limitRequests: requestLimiter(settings.limitRequests, events) };
  const credentials: Credentials = {
    ...(bootstrapToken !== undefined && { bootstrapToken }),
    ...(review && { callerReview: review }),
  };
  const acme = await openListener({
    setting: 'ACMERY_ACME_LISTEN',
    address: settings.acmeListen,
    door: mount(acmeDoor({ ca, nonces: await openNonces(ca), routes: acmeRoutes }), limited),
    events,
    tls,
  });
  opened(acme);
  const api = await openListener({
    setting: 'ACMERY_API_LISTEN',
    address: settings.apiListen,
    door: mount(
      withUi(apiDoor({ ca, routes: apiRoutes(version), ...credentials }), {
        ca,
        authenticate: authenticator(ca, credentials),
        version,
      }),
      limited,
    ),
    events,
    ...(settings.apiTls === 'on' && { tls }),
  });
  opened(api);
  const http = await openListener({
    setting: 'ACMERY_HTTP_LISTEN',
    address: settings.httpListen,
    door: mount(publishDoor({ ca, routes: publishRoutes }), mounting),
    events,
  });
  opened(http);
  return { acme, api, http };
}
