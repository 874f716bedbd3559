// What things are called to which other things refer by their id, deleted ones too.
import { sql } from 'kysely';
import type { Db } from './database.ts';

export type NamedIds = {
  readonly directories?: readonly string[];
  readonly acmeKeys?: readonly string[];
  readonly signingCerts?: readonly string[];
};

/** By id; one without a name has the empty one, but for a directory, which has its slug. */
export async function findNames(
  db: Db,
  { directories = [], acmeKeys = [], signingCerts = [] }: NamedIds,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ readonly id: string; readonly name: string }>`
    select id, slug as name from directories where id = any(${directories}::uuid[])
     union all
    select id, name from acme_keys where id = any(${acmeKeys}::uuid[])
     union all
    select id, name from signing_certs where id = any(${signingCerts}::uuid[])`.execute(db);
  return new Map(rows.map(({ id, name }) => [id, name]));
}
