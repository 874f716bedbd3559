import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { testDatabase } from '../support/database.ts';

test('each test has a database of its own', async () => {
  const t = performance.now();
  await using one = await testDatabase();
  console.log(performance.now() - t);
  await using other = await testDatabase();
  await sql`create table thing (id int)`.execute(one.db.db);
  await expect(sql`select * from thing`.execute(other.db.db)).rejects.toThrow('relation "thing" does not exist');
});
