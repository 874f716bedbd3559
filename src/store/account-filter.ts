// By whom the things are that lists of orders and certificates show: an account, or all accounts of a directory.
import { type RawBuilder, type SqlBool, sql } from 'kysely';

export type AccountFilter = {
  readonly acmeKeyId?: string | undefined;
  readonly directoryId?: string | undefined;
};

/** An account orders in its own directory alone, so the id of the directory says nothing beside that of the account. */
export function indexedIds({ acmeKeyId, directoryId }: AccountFilter): Readonly<Record<string, string>> {
  if (acmeKeyId !== undefined) return { acme_key_id: acmeKeyId };
  return directoryId === undefined ? {} : { directory_id: directoryId };
}

/** Of an account of another directory there is nothing. Beside indexedIds. */
export const keyInDirectory = ({ acmeKeyId, directoryId }: AccountFilter): RawBuilder<SqlBool> =>
  acmeKeyId === undefined || directoryId === undefined
    ? sql`true`
    : sql`exists (select from acme_keys where id = ${acmeKeyId} and (directory_id = ${directoryId}) is true)`;
