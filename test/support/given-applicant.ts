// An account with its directory, as a request of its client is given them.
import { findAcmeContext, requireAccount } from '../../src/core/acme-requests.ts';
import type { Applicant } from '../../src/core/applicant.ts';
import type { Ca } from '../../src/core/ca.ts';
import type { OrderValidations } from '../../src/core/order-validations.ts';
import { accountUrl } from '../../src/core/urls.ts';
import { givenAcmeKey } from './given-acme-key.ts';
import { givenDirectory } from './given-directory.ts';

type Wanted = Parameters<typeof givenDirectory>[1] & { readonly orderValidations?: OrderValidations };
type Asked = { readonly accountId: string; readonly slug: string };

export type GivenApplicant = Applicant & { readonly kid: string };

let made = 0;

/** In a directory of its own, which allows every name and private addresses unless said otherwise. */
export async function givenApplicant(
  ca: Ca,
  { orderValidations = 'challenge', ...directory }: Wanted = {},
): Promise<GivenApplicant> {
  made += 1;
  const slug = `shop-${made}`;
  const { id } = await givenDirectory(ca, {
    slug,
    allowed_dns_identifiers: ['**'],
    allowed_ip_identifiers: ['10.0.0.0/8', 'fd00::/8'],
    cert_min_days: 2,
    cert_max_days: 97,
    ...directory,
  });
  const { id: accountId } = await givenAcmeKey(ca, { id }, { order_validations: orderValidations });
  return applicantOf(ca, { accountId, slug });
}

/** As it is now. */
export async function applicantOf(ca: Ca, { accountId, slug }: Asked): Promise<GivenApplicant> {
  const context = await findAcmeContext(ca, { slug, accountId, clientAddress: '10.0.0.1' });
  const account = requireAccount(context, { slug, id: accountId });
  const request = { clientAddress: '10.0.0.1', requestId: 'request-1' };
  return { ...request, directory: context.directory, account, kid: accountUrl(ca.urls, slug, accountId) };
}
