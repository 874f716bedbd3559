// The folder of manifests, where one takes the place of a cluster.
import { ManifestFiles } from '../../folder/manifest-files.ts';
import { type Finding, failed, ok, type Patient, skipped } from './finding.ts';

export async function checkManifests({ settings: { manifests } }: Patient): Promise<Finding> {
  if (manifests === undefined) return skipped('no folder of manifests is set (ACMERY_MANIFESTS)');
  const folder = new ManifestFiles(manifests);
  // Only what looks alike twice is told.
  const reading = (await folder.look()) ?? (await folder.look()) ?? { problem: 'its files are being written' };
  const problems =
    'problem' in reading
      ? [reading.problem]
      : reading.files.flatMap((file) => ('problem' in file ? [file.problem] : []));
  if (problems.length > 0)
    return failed(`${manifests}: ${problems.join('; ')}`, 'Correct the path, its owner and its mode.');
  const { length } = 'files' in reading ? reading.files : [];
  return ok(`${length} files can be read in ${manifests}; \`acmery manifests check\` says whether they are valid`);
}
