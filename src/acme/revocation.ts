// revokeCert (RFC 8555 section 7.6).
import { revokeForClient } from '../core/acme-revocation.ts';
import { acmePaths } from '../core/urls.ts';
import { Type } from '../schema/define.ts';
import { signedRoute } from './route.ts';

export const revokeCertRoute = signedRoute({
  path: acmePaths.revokeCert,
  signer: 'accountOrCertificateKey',
  json: Type.Object({ certificate: Type.String(), reason: Type.Optional(Type.Integer()) }),
  handle: async ({ ca, directory, signer, payload: { certificate, reason }, requestId }) => {
    await revokeForClient(ca, { directory, signer, certificate, reason, requestId });
    return { status: 200 };
  },
});
