// Where the service is reached from outside: what directory documents and certificates say, for as long as they live.
import { formatId } from './ids.ts';

export type Urls = {
  /** HTTPS, without a slash at its end: ACME. May hold `{slug}` as the whole first label of its host. */
  readonly publicUrl: string;
  /** Plain HTTP, without a slash at its end: CRLs, OCSP and CA certificates. */
  readonly httpUrl: string;
};

/** Certificates that a CA cert issues carry these three (product.md section 3). */
export const crlUrl = ({ httpUrl }: Urls, signingCertId: string): string =>
  `${httpUrl}/crl/${formatId('scrt', signingCertId)}.crl`;
export const ocspUrl = ({ httpUrl }: Urls, signingCertId: string): string =>
  `${httpUrl}/ocsp/${formatId('scrt', signingCertId)}`;
export const caCertificateUrl = ({ httpUrl }: Urls, signingCertId: string): string =>
  `${httpUrl}/ca/${formatId('scrt', signingCertId)}.crt`;
