// The physical versions of the rows that custom resources own: a write of any kind makes another one.
import { sql } from 'kysely';
import type { Ca } from '../../src/core/ca.ts';

export async function rowsOf(ca: Ca): Promise<readonly string[]> {
  const { rows } = await sql<{ version: string }>`
    select 'signing_certs ' || id || ' ' || xmin as version from signing_certs
    union all select 'directories ' || id || ' ' || xmin from directories
    union all select 'directory_slugs ' || slug || ' ' || xmin from directory_slugs
    union all select 'audit ' || id from audit
    order by 1`.execute(ca.database.db);
  return rows.map(({ version }) => version);
}
