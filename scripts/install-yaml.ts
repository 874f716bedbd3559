// `npm run install-yaml`: the chart as one file for `kubectl apply --server-side -f`. Arguments are those of `helm template`.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findHelm } from '../test/support/plane/binaries.ts';

const NAMESPACE = 'acmery-system';
const [file, usual] = ['dist/install.yaml', ['--set', 'database.existingSecret=acmery-database']];
const given = process.argv.slice(2);
const chart = join(import.meta.dirname, '../charts/acmery');

const header = `# Acmery: kubectl apply --server-side -f install.yaml
# It reads the URL of its database from the key \`uri\` of the Secret acmery-database in ${NAMESPACE}, unless told otherwise.
apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
`;

const helm = await findHelm((sentence) => console.error(sentence));
const args = ['template', 'acmery', chart, '--namespace', NAMESPACE, ...(given.length > 0 ? given : usual)];
const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8' });
if (status === 0) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    `${header}${stdout.replaceAll('app.kubernetes.io/managed-by: Helm', 'app.kubernetes.io/managed-by: kubectl')}`,
  );
  console.log(`${file} written`);
} else {
  console.error(stderr);
  process.exitCode = 1;
}
