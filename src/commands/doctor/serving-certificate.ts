// The certificate of our own HTTPS: the operator's files, or what our serving CA signs.
import { findServingCa } from '../../core/serving-ca.ts';
import { readTlsFiles } from '../../http/tls-files.ts';
import { schemaStatus } from '../../store/migrate.ts';
import { type Finding, ok, type Patient, skipped } from './finding.ts';

export async function checkServingCertificate(patient: Patient): Promise<Finding> {
  const { apiTls, tlsCertFile, tlsKeyFile } = patient.settings;
  if (apiTls === 'off') return skipped('the API listener speaks plain HTTP (ACMERY_API_TLS=off)');
  if (tlsCertFile !== undefined && tlsKeyFile !== undefined) {
    const { notAfter } = await readTlsFiles({
      certificateFile: tlsCertFile,
      keyFile: tlsKeyFile,
      now: () => new Date(),
    });
    return ok(`${tlsCertFile} is good until ${notAfter.toISOString()}`);
  }
  const { database } = await patient.keyless();
  const { pending } = await schemaStatus(database.db);
  const servingCa = pending.length > 0 ? undefined : await findServingCa(await patient.ca());
  if (servingCa === undefined) return skipped('there is no serving CA yet; the first start makes it');
  return ok(`signed by our serving CA, which is good until ${servingCa.notAfter.toISOString()}`);
}
