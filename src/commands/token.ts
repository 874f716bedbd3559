// `acmery token`: makes, lists and revokes API tokens.
import { userInfo } from 'node:os';
import { withDatabase } from '../app/open-ca.ts';
import type { Settings } from '../config/settings.ts';
import { duration } from '../config/value-kinds.ts';
import { type ApiTokenView, createApiToken, listApiTokens, revokeApiToken } from '../core/api-tokens.ts';
import { type Caller, type Permission, permissions } from '../core/caller.ts';
import { CaError } from '../core/errors.ts';
import { quietLogOf } from './log.ts';
import { printJson, printTable } from './print.ts';

type Flags = Readonly<Record<string, string | undefined>>;

const lifetime = duration(60_000, 3_650 * 86_400_000);

export async function createTokenCommand(settings: Settings, flags: Flags): Promise<number> {
  const { token, view } = await withDatabase(settings, quietLogOf(settings), (ca) =>
    createApiToken(ca, commandCaller(), newTokenOf(flags)),
  );
  if (flags.output === 'json') printJson({ token, ...jsonOf(view) });
  else {
    console.log(token);
    console.error(`Token ${view.id} (${view.permission}) is shown this once. Use it as: Authorization: Bearer <token>`);
  }
  return 0;
}

export async function listTokensCommand(settings: Settings, flags: Flags): Promise<number> {
  const tokens = await withDatabase(settings, quietLogOf(settings), (ca) => listApiTokens(ca));
  const rows = tokens.map(jsonOf);
  if (flags.output === 'json') printJson(rows);
  else printTable(['id', 'name', 'permission', 'state', 'created_at', 'expires_at', 'last_used_on'], rows);
  return 0;
}

export async function revokeTokenCommand(settings: Settings, id: string): Promise<number> {
  const token = await withDatabase(settings, quietLogOf(settings), (ca) => revokeApiToken(ca, commandCaller(), id));
  console.log(`Token ${token.id} (${token.name}) is revoked.`);
  return 0;
}

function newTokenOf(flags: Flags): { name: string; permission: Permission; livesMs?: number } {
  const { name = '', permission: level, expires } = flags;
  const permission = permissions.find((known) => known === level) ?? 'read';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (name.length > 200 || name.trim() === '' || /[\u0000-\u001f\u007f]/.test(name)) {
    throw new CaError('invalid', '--name: expected 1-200 characters without control characters.');
  }
  if (expires === undefined) return { name, permission };
  const livesMs = lifetime.parse(expires);
  if (livesMs === undefined) throw new CaError('invalid', `--expires: expected ${lifetime.accepts}, got "${expires}".`);
  return { name, permission, livesMs };
}

const commandCaller = (): Caller => ({ kind: 'command', name: userInfo().username, permission: 'admin' });

const jsonOf = (token: ApiTokenView) => ({
  id: token.id,
  name: token.name,
  permission: token.permission,
  state: token.state,
  created_at: secondsOf(token.createdAt),
  expires_at: token.expiresAt === undefined ? null : secondsOf(token.expiresAt),
  last_used_on: token.lastUsedOn ?? null,
});

const secondsOf = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, 'Z');
