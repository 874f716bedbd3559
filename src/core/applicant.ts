// Who asks for certificates, and where: an account and its directory as they were read for one request.
import type { Holder } from '../store/acme-orders.ts';
import { AcmeError } from './acme-error.ts';
import type { AcmeAccount, AcmeDirectory } from './acme-requests.ts';

export type Applicant = {
  readonly directory: AcmeDirectory;
  readonly account: AcmeAccount;
  readonly clientAddress: string;
  readonly requestId: string;
};

export const holderOf = ({ account, directory }: Applicant): Holder => ({
  accountId: account.id,
  directoryId: directory.id,
});

/**
 * Reads what is the account's own; an id that is none comes as undefined. Throws `malformed` (404), the same for what is
 * another's as for what never was (ACC-13).
 */
export async function own<Row>(
  noun: 'order' | 'authorization' | 'challenge' | 'certificate',
  id: string | undefined,
  read: (id: string) => Promise<Row | undefined>,
): Promise<Row> {
  const row = id === undefined ? undefined : await read(id);
  if (row !== undefined) return row;
  throw new AcmeError('malformed', `There is no ${noun} of this account at this URL.`, { status: 404 });
}
