// A plug-in of a kubeconfig: a program that prints who we are, run again when that has expired.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from './access.ts';

export type ExecEntry = {
  readonly apiVersion?: string;
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
  readonly interactiveMode?: string;
};

type ExecContext = {
  /** From which a relative path of the command starts. */
  readonly folder: string;
  readonly environment: Environment;
  readonly cluster: object;
};

type Credential = {
  readonly token?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
};
type Kept = { readonly credential: Credential; readonly expiresAtMs: number };

const API_VERSION = 'client.authentication.k8s.io/v1';
const TIMEOUT_MS = 60_000;

/** Runs it at the first question, and once for all who ask at the same time. */
export function execPlugin(entry: ExecEntry, context: ExecContext): () => Promise<Credential> {
  if (!entry.command) throw new Error('its user has a plug-in without a command.');
  if (entry.interactiveMode === 'Always')
    throw new Error(`its plug-in ${entry.command} asks somebody at a terminal (interactiveMode: Always).`);
  let kept: Kept | undefined;
  let running: Promise<Kept> | undefined;
  return async () => {
    if (kept !== undefined && kept.expiresAtMs > Date.now()) return kept.credential;
    running ??= run(entry, entry.command ?? '', context).finally(() => {
      running = undefined;
    });
    kept = await running;
    return kept.credential;
  };
}

async function run(entry: ExecEntry, command: string, { folder, environment, cluster }: ExecContext): Promise<Kept> {
  const info = {
    apiVersion: entry.apiVersion ?? API_VERSION,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(entry.provideClusterInfo === true && { cluster }) },
  };
  const child = spawn(/[/\\]/.test(command) ? resolve(folder, command) : command, entry.args ?? [], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    env: {
      ...environment,
      ...Object.fromEntries((entry.env ?? []).map(({ name, value }) => [name, value])),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    },
  });
  const ended = new Promise<number | null>((done, failed) => child.once('close', done).once('error', failed));
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await ended.catch((error: Error) => {
    throw new Error(`its plug-in cannot be run: ${error.message}. ${entry.installHint ?? ''}`.trimEnd(), {
      cause: error,
    });
  });
  const [printed, complaint] = await said;
  if (code !== 0) throw new Error(`its plug-in ${command} failed: ${complaint.trim() || `it ended with ${code}`}`);
  return keptOf(command, printed);
}

type ExecCredential = {
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
};

function keptOf(command: string, printed: string): Kept {
  const { status } = parsed(command, printed);
  if (!status?.token && !status?.clientCertificateData)
    throw new Error(`its plug-in ${command} gave neither a token nor a certificate.`);
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = status;
  return {
    credential: { token, certificate: clientCertificateData, key: clientKeyData },
    expiresAtMs: expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp),
  };
}

/** What it printed is not told: a secret may be in it. */
function parsed(command: string, printed: string): ExecCredential {
  try {
    return (JSON.parse(printed) ?? {}) as ExecCredential;
  } catch {
    throw new Error(`its plug-in ${command} did not print an ExecCredential in JSON.`);
  }
}
