// The keys of CA certs: whether each that should sign has its own in the key folder.
import type { Settings } from '../../config/settings.ts';
import type { Ca } from '../../core/ca.ts';
import { formatId } from '../../core/ids.ts';
import { listSigningCerts, type SigningCertView } from '../../core/signing-certs.ts';
import { schemaStatus } from '../../store/migrate.ts';
import { type Finding, failed, ok, type Patient, skipped } from './finding.ts';

const PAGE = 200;

export async function checkCaKeys(patient: Patient): Promise<Finding> {
  if (await areInCluster(patient.settings))
    return skipped('they are Secrets of the cluster; the condition KeyAvailable of each SigningCert tells');
  const ca = await patient.ca();
  if ((await schemaStatus(ca.database.db)).pending.length > 0) return skipped('the schema comes first');
  const online = (await allOf(ca)).filter(({ keyAvailability }) => keyAvailability === 'online');
  const stored = await Promise.all(online.map(async (cert) => ({ cert, key: await ca.keys.read(cert.id) })));
  const lost = stored.filter(({ key }) => key === undefined).map(({ cert }) => titleOf(ca, cert));
  if (lost.length === 0) return ok(`${online.length} CA certs have theirs`);
  return failed(
    `missing: ${lost.join(', ')}`,
    'They sign nothing. Restore the files from a backup; a lost key is lost, and its CA has to be replaced.',
  );
}

async function areInCluster({ manifests, kubeconfig }: Settings): Promise<boolean> {
  if (manifests !== undefined) return false;
  const { openCluster } = await import('../../kubernetes/client.ts');
  await using cluster = await openCluster({ kubeconfig }).catch(() => undefined);
  return cluster !== undefined || kubeconfig !== undefined;
}

async function allOf(ca: Ca): Promise<readonly SigningCertView[]> {
  const all: SigningCertView[] = [];
  for (let isMore = true; isMore; ) {
    const last = all.at(-1);
    const from = { limit: PAGE, direction: 'asc', sort: 'id', ...(last && { after: last.id }) } as const;
    const page = await listSigningCerts(ca, {}, from);
    all.push(...page.items);
    isMore = page.hasMore;
  }
  return all;
}

const titleOf = ({ keys }: Ca, { id, name }: SigningCertView): string =>
  `${name} (${formatId('scrt', id)}, ${keys.nameOf(id)})`;
