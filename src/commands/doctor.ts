// `acmery doctor`: looks at everything that serve needs, and says what to do about each thing that is wrong.
import { keysFor } from '../app/keys-for.ts';
import { openCaFor } from '../app/open-ca.ts';
import type { Settings } from '../config/settings.ts';
import { checkCluster, openPatientCluster } from './doctor/cluster.ts';
import { checkClock, checkDatabase, checkSchema } from './doctor/database.ts';
import type { Examine, Finding, Patient } from './doctor/finding.ts';
import { checkCaKeys, checkKeys } from './doctor/keys.ts';
import { checkListeners } from './doctor/listeners.ts';
import { checkDataFolder, checkNode } from './doctor/machine.ts';
import { checkManifests } from './doctor/manifests.ts';
import { checkServingCertificate } from './doctor/serving-certificate.ts';
import { quietLogOf } from './log.ts';
import { printJson } from './print.ts';

/** In the order in which one thing needs the other. */
const checks: Readonly<Record<string, Examine>> = {
  node: checkNode,
  'data folder': checkDataFolder,
  keys: checkKeys,
  database: checkDatabase,
  schema: checkSchema,
  'CA keys': checkCaKeys,
  clock: checkClock,
  'serving certificate': checkServingCertificate,
  listeners: checkListeners,
  manifests: checkManifests,
  cluster: checkCluster,
};

const marks = { ok: '[ok]     ', warning: '[warning]', failed: '[FAILED] ', skipped: '[skipped]' } as const;

export async function doctorCommand(settings: Settings, flags: { readonly output?: string }): Promise<number> {
  await using scope = new AsyncDisposableStack();
  const cluster = once(async () => {
    const opened = await openPatientCluster(settings);
    return opened && scope.use(opened);
  });
  const keys = once(() => keysFor(settings, cluster));
  const keyless = once(() => openCaFor(settings, quietLogOf(settings), scope));
  const ca = once(async () => ({ ...(await keyless()), keys: (await keys()).keys }));
  const patient: Patient = { settings, cluster, keys, keyless, ca };
  const findings: (Finding & { readonly check: string })[] = [];
  for (const [check, examine] of Object.entries(checks)) {
    const finding = { check, ...(await examine(patient).catch(failure)) };
    findings.push(finding);
    if (flags.output !== 'json') console.log(linesOf(finding));
  }
  if (flags.output === 'json') printJson(findings);
  return findings.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
}

function once<Result>(open: () => Promise<Result>): () => Promise<Result> {
  let opening: Promise<Result> | undefined;
  return () => {
    opening ??= open();
    return opening;
  };
}

const failure = (error: unknown): Finding => ({
  outcome: 'failed',
  detail: error instanceof Error ? error.message : String(error),
});

const linesOf = ({ check, outcome, detail, advice }: Finding & { check: string }): string =>
  `${marks[outcome]} ${check}: ${detail}${advice === undefined ? '' : `\n            ${advice}`}`;
