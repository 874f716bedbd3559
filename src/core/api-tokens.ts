// API tokens: the credentials of /v1 callers. A token is shown once and kept as a digest.
import { hash, randomBytes } from 'node:crypto';
import {
  type ApiTokenRow,
  findApiToken,
  findApiTokenByDigest,
  insertApiToken,
  listApiTokenRows,
  revokeApiToken as revokeRow,
  stampApiToken,
} from '../store/api-tokens.ts';
import { recordChange } from './audit-events.ts';
import type { Ca } from './ca.ts';
import type { Actor, Caller, Permission } from './caller.ts';
import { CaError } from './errors.ts';
import { formatId, newUuid, parseId } from './ids.ts';

type ApiTokenState = 'valid' | 'expired' | 'revoked';

export type ApiTokenView = {
  readonly id: string;
  readonly name: string;
  readonly permission: Permission;
  readonly state: ApiTokenState;
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  readonly lastUsedOn: string | undefined;
};

export type NewApiToken = { readonly name: string; readonly permission: Permission; readonly livesMs?: number };

/** Tokens need no key: they can be made where none is in reach. */
export type TokenKeeper = Pick<Ca, 'database' | 'clock'>;

// The prefix lets secret scanners and people recognise a token that lies where it should not.
const PREFIX = 'acmery_';
const FORM = /^acmery_[A-Za-z0-9_-]{43}$/;

/** Makes a token of 256 random bits. The text in `token` exists nowhere else afterwards. */
export async function createApiToken(
  ca: TokenKeeper,
  actor: Actor,
  { name, permission, livesMs }: NewApiToken,
): Promise<{ token: string; view: ApiTokenView }> {
  const now = ca.clock.now();
  const token = PREFIX + randomBytes(32).toString('base64url');
  const expires = livesMs === undefined ? null : new Date(now.getTime() + livesMs);
  const row = await ca.database.inTransaction(async (tx) => {
    const id = newUuid(now);
    const after = { name, permission, expires_at: expires };
    await recordChange(tx, actor, now, { action: 'create', kind: 'api_token', id, after });
    return insertApiToken(tx, { id, ...after, sha256: digestOf(token), created_at: now });
  });
  return { token, view: viewOf(row, now) };
}

/** All tokens, revoked and expired ones too, the oldest first. */
export async function listApiTokens(ca: TokenKeeper): Promise<ApiTokenView[]> {
  const rows = await listApiTokenRows(ca.database.db);
  return rows.map((row) => viewOf(row, ca.clock.now()));
}

/** Ends a token at once. Throws `not_found` for an unknown id and `already_revoked`. */
export async function revokeApiToken(ca: TokenKeeper, actor: Actor, id: string): Promise<ApiTokenView> {
  const uuid = parseId('atok', id);
  const known = uuid === undefined ? undefined : await findApiToken(ca.database.db, uuid);
  if (known === undefined)
    throw new CaError('not_found', `There is no API token ${id}; \`acmery token list\` shows all of them.`);
  const now = ca.clock.now();
  const row = await ca.database.inTransaction(async (tx) => {
    const revoked = await revokeRow(tx, known.id, now);
    if (revoked !== undefined)
      await recordChange(tx, actor, now, { action: 'revoke', kind: 'api_token', id: revoked.id });
    return revoked;
  });
  if (row === undefined) throw new CaError('already_revoked', `API token ${id} is revoked already.`);
  return viewOf(row, now);
}

/** A bearer token has the form of ours; others may be of another kind. */
export const isApiToken = (token: string): boolean => FORM.test(token);

/**
 * Who shows this token: an indexed read, never a copy, so that a revoked token ends on every replica at once. Notes the
 * day of use on the side.
 */
export async function callerOfApiToken(ca: Ca, token: string): Promise<Caller | 'unknown' | 'expired' | 'revoked'> {
  const row = await findApiTokenByDigest(ca.database.db, hash('sha256', token, 'hex'));
  if (row === undefined) return 'unknown';
  const now = ca.clock.now();
  const state = stateOf(row, now);
  if (state !== 'valid') return state;
  noteUse(ca, row, now);
  return { kind: 'api_token', name: formatId('atok', row.id), permission: row.permission };
}

/** At most one write a day and token, not waited for: a request must not fail because its stamp did. */
function noteUse(ca: Ca, { id, last_used_on }: ApiTokenRow, now: Date): void {
  const today = now.toISOString().slice(0, 10);
  if (last_used_on !== null && last_used_on >= today) return;
  stampApiToken(ca.database.db, id, today).catch((error: unknown) => {
    ca.events.internalError({ where: 'api_token_stamp', error });
  });
}

const digestOf = (token: string): Buffer => hash('sha256', token, 'buffer');

const viewOf = (row: ApiTokenRow, now: Date): ApiTokenView => ({
  id: formatId('atok', row.id),
  name: row.name,
  permission: row.permission,
  state: stateOf(row, now),
  createdAt: row.created_at,
  expiresAt: row.expires_at ?? undefined,
  lastUsedOn: row.last_used_on ?? undefined,
});

function stateOf({ revoked_at, expires_at }: ApiTokenRow, now: Date): ApiTokenState {
  if (revoked_at !== null) return 'revoked';
  return expires_at !== null && expires_at <= now ? 'expired' : 'valid';
}
