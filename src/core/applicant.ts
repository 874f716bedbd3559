// Who asks for certificates, and where: an account and its directory as they were read for one request.
import type { Held, Holder } from '../store/acme-orders.ts';
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

type Noun = 'order' | 'authorization' | 'challenge' | 'certificate';

/** What was read for an account that a request names, perhaps before it was known whose the request is. */
export type Found<Row> = Promise<Row | undefined>;

/**
 * The row, where it is the applicant's own; an id that is none finds none. Throws `malformed` (404), the same for what is
 * another's as for what never was (ACC-13, SEC-38).
 */
export async function own<Row extends Held>(
  noun: Noun,
  { account, directory }: Applicant,
  found: Found<Row>,
): Promise<Row> {
  const row = await found;
  if (row?.acme_key_id === account.id && row.directory_id === directory.id) return row;
  throw nothingOfAccount(noun);
}

export const nothingOfAccount = (noun: Noun): AcmeError =>
  new AcmeError('malformed', `There is no ${noun} of this account at this URL.`, { status: 404 });
