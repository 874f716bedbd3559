// The CRL of the serving CA, which never revokes anything: it is empty, and each process signs it for itself. Its number and
// dates follow from the time alone, so that all replicas say the same.
import { type Certificate, parseCertificate } from '../x509/certificate.ts';
import { assembleCrl, buildTbsCrl } from '../x509/crl.ts';
import { keyIdentifierOf } from '../x509/spki.ts';
import { CRL_LIFE_MS, CRL_REFRESH_MS } from './build-crl.ts';
import type { Ca } from './ca.ts';
import type { Signer } from './ports.ts';
import type { PublishedCrl } from './published-crls.ts';
import { Recent } from './recent.ts';
import { findServingGeneration } from './serving-ca.ts';

type Dates = Pick<PublishedCrl, 'thisUpdate' | 'nextUpdate'>;

const MOST = 16;
const kept = new Recent<Buffer>(MOST);

/** Of one generation; undefined where there is none, as where our own HTTPS has always had a certificate from elsewhere. */
export async function findServingCrl(ca: Ca, generation: number): Promise<PublishedCrl | undefined> {
  const found = await findServingGeneration(ca, generation);
  if (found === undefined) return undefined;
  const issuer = parseCertificate(found.certificate);
  const dates = datesAt(ca.clock.signingTime(), issuer);
  const number = String(dates.thisUpdate.getTime());
  const key = `${number} ${issuer.spki.toString('base64')}`;
  const read = async (): Promise<Buffer> => {
    const der = kept.get(key) ?? (await sign(issuer, await found.signer(), dates));
    kept.set(key, der);
    return der;
  };
  return { number, ...dates, read };
}

/** Another one begins every twelve hours. */
function datesAt(now: Date, { notBefore }: Certificate): Dates {
  const period = Math.floor(now.getTime() / CRL_REFRESH_MS) * CRL_REFRESH_MS;
  const start = Math.max(period, notBefore.getTime());
  return { thisUpdate: new Date(start), nextUpdate: new Date(start + CRL_LIFE_MS) };
}

async function sign({ subject, spki }: Certificate, signer: Signer, dates: Dates): Promise<Buffer> {
  const tbs = buildTbsCrl({
    ...dates,
    number: BigInt(dates.thisUpdate.getTime()),
    entries: [],
    issuer: subject.der,
    issuerKeyIdentifier: keyIdentifierOf(spki),
    issuerKeyType: signer.keyType,
  });
  return assembleCrl(tbs, signer.keyType, await signer.sign(tbs));
}
