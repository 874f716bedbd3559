// Statements on service_state: what the service as a whole has decided, one JSON value a key.
import { sql } from 'kysely';
import type { Db } from './database.ts';

export async function readServiceState(db: Db, key: string): Promise<unknown> {
  const row = await db.selectFrom('service_state').select('value').where('key', '=', key).executeTakeFirst();
  return row?.value;
}

/** Writes the first value of a key, or replaces `seen` by the next one. False when somebody else was first. */
export async function replaceServiceState(db: Db, key: string, seen: unknown, next: unknown): Promise<boolean> {
  const { rows } = await sql`
    insert into service_state (key, value) values (${key}, ${JSON.stringify(next)}::jsonb)
    on conflict (key) do update set value = excluded.value
     where service_state.value = ${JSON.stringify(seen ?? null)}::jsonb
    returning key`.execute(db);
  return rows.length === 1;
}
