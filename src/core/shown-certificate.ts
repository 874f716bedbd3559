// The certificate in a revokeCert request: read strictly, and the names that an account has to hold to revoke it.
import type { AuthorizedName } from '../store/acme-revocation.ts';
import { type Certificate, parseCertificate } from '../x509/certificate.ts';
import { X509Error } from '../x509/x509-error.ts';
import { AcmeError } from './acme-error.ts';

export type ShownCertificate = Pick<Certificate, 'serial' | 'der' | 'extensions'>;

/** Throws `malformed` for all that is not base64url of the DER of one certificate: padding and PEM too (REV-6). */
export function readShownCertificate(text: string): ShownCertificate {
  const der = Buffer.from(text, 'base64url');
  if (text === '' || der.toString('base64url') !== text) {
    throw new AcmeError('malformed', 'The certificate is not base64url without padding; send its DER in that form.');
  }
  try {
    return parseCertificate(der);
  } catch (error) {
    if (!(error instanceof X509Error)) throw error;
    throw new AcmeError('malformed', `The certificate cannot be read: ${error.message}`);
  }
}

/** None where a name is of a kind that no authorization is for: then nobody holds them all. */
export function authorizedNames({ extensions }: ShownCertificate): readonly AuthorizedName[] {
  const names = extensions.subjectAltNames ?? [];
  const authorized = names.flatMap(({ type, value }) => {
    if (type !== 'dns' && type !== 'ip') return [];
    const wildcard = type === 'dns' && value.startsWith('*.');
    return [{ type, value: wildcard ? value.slice(2) : value, wildcard }];
  });
  return authorized.length === names.length ? authorized : [];
}
