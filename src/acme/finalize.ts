// Finalize: a CSR for a ready order, answered with the order and, as a rule, its certificate (RFC 8555 section 7.4).
import { AcmeError } from '../core/acme-error.ts';
import { finalizeOrder, readOrderToFinalize } from '../core/finalize.ts';
import { parseId } from '../core/ids.ts';
import { acmePaths, idPrefixOf } from '../core/urls.ts';
import { Type } from '../schema/define.ts';
import { orderReply } from './order-reply.ts';
import { type AcmeRequest, signedRoute } from './route.ts';

const MOST_CSR = 65_536;

export const finalizeRoute = signedRoute({
  path: acmePaths.finalize,
  signer: 'account',
  json: Type.Object({ csr: Type.String({ maxLength: MOST_CSR }) }),
  ahead: ({ ca, accountId, params }) => readOrderToFinalize(ca, accountId, idIn(params)),
  handle: async (request) => {
    const { ca, params, payload, ahead, head } = request;
    const asked = { id: idIn(params), csr: csrOf(payload), found: ahead, signal: head.signal };
    return orderReply(request, await finalizeOrder(ca, request, asked), 200);
  },
});

const idIn = ({ id = '' }: AcmeRequest['params']): string | undefined => parseId(idPrefixOf('finalize'), id);

/** FIN-5: some clients pad, which is as clear as not to. */
function csrOf({ csr }: { readonly csr: string }): Buffer {
  if (/^[A-Za-z0-9_-]+={0,2}$/.test(csr)) return Buffer.from(csr, 'base64url');
  throw new AcmeError(
    'malformed',
    '"csr" must be the DER of a CSR in base64url (letters, digits, "-" and "_"), neither PEM nor plain base64.',
  );
}
