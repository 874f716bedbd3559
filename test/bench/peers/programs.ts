// Which peers there are: their Go modules, and what is changed in them.

export type Patch = { readonly module: string; readonly file: string; readonly find: string; readonly put: string };

export type Program = {
  readonly module: string;
  readonly version: string;
  /** The package of its command. */
  readonly command: string;
  readonly patch?: Patch;
};

/** As shipped, step-ca keeps 2 idle connections and opens one more, each time anew, for all else that is under way. */
export const POOL = 16;

const stepCa = { module: 'github.com/smallstep/certificates', version: '0.30.2', command: './cmd/step-ca' };

const opening = 'db.db = pgxstdlib.OpenDB(*config)\n';
const pool: Patch = {
  module: 'github.com/smallstep/nosql',
  file: 'postgresql/postgresql.go',
  find: opening,
  put: `${opening}\tdb.db.SetMaxOpenConns(${POOL})\n\tdb.db.SetMaxIdleConns(${POOL})\n`,
};

/**
 * Pebble stops for ever within seconds under parallel orders: newOrder holds the store's lock while it waits for authorizations,
 * a reader of an authorization holds that one while it waits for the store. Patched, newOrder lets go of the store first.
 */
const scan = 'for _, authz := range m.authorizationsByID {\n';
const search = 'identifier acme.Identifier) *core.Authorization {\n\tm.RLock()\n';
const letGo: Patch = {
  module: 'github.com/letsencrypt/pebble/v2',
  file: 'db/memorystore.go',
  find: `${search}\tdefer m.RUnlock()\n\t${scan}`,
  put: `${search}\tall := make([]*core.Authorization, 0, len(m.authorizationsByID))\n\t${scan}\t\tall = append(all, authz)\n\t}\n\tm.RUnlock()\n\tfor _, authz := range all {\n`,
};

export const programs = {
  stepCa,
  stepCaPooled: { ...stepCa, patch: pool },
  pebble: { module: letGo.module, version: '2.10.1', command: './cmd/pebble', patch: letGo },
} as const satisfies Readonly<Record<string, Program>>;
