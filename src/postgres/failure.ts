// What a person is told when Postgres cannot be started here: one sentence that says what to do, with the cause kept.

/** Postgres of our own cannot run; the message is complete, so print it alone. */
export class PostgresError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'PostgresError';
  }
}

const portTaken = 'The port chosen for Postgres was taken by another program meanwhile: start again.';

/** True for the one failure that another try with another port cures. */
export const isPortTaken = (error: unknown) => error instanceof PostgresError && error.message === portTaken;

/** What Postgres writes when it cannot start, and what that means for the owner of the data folder. */
const explanations: readonly (readonly [RegExp, (cluster: string) => string])[] = [
  [
    /No space left on device|Disk quota exceeded/,
    (cluster) => `The disk that holds ${cluster} is full: free some space and start again.`,
  ],
  [/Address already in use|could not create any TCP\/IP sockets/, () => portTaken],
  [
    /lock file "postmaster\.pid" already exists|pre-existing shared memory block/,
    (cluster) => `Another Postgres server still works on ${cluster}: stop it and start again.`,
  ],
  [
    /Cannot allocate memory|could not (create|map|resize) .*shared memory/,
    () => 'Postgres did not get its shared memory: free some memory (in a container also /dev/shm) and start again.',
  ],
  [
    /could not look up effective user ID/,
    () =>
      'Postgres needs a name for the user that runs it: add the user to /etc/passwd, or set DATABASE_URL to a running server.',
  ],
  [
    /database files are incompatible with server/,
    (cluster) => `${damaged(cluster)} If it is whole, another build of Postgres made it: install that one.`,
  ],
  [/Permission denied|Operation not permitted/, (cluster) => notAccessible(cluster)],
  [
    /pg_control|control file|checkpoint record|not a valid data directory|could not find the database system|configuration file|could not open (file|directory) "(base|global|pg_)/,
    (cluster) => damaged(cluster),
  ],
];

/** The sentence for a cluster whose files are broken. */
export const damaged = (cluster: string) =>
  `The database in ${cluster} is damaged: restore the folder from a backup, or move it away to start with an empty database.`;

const notAccessible = (path: string) =>
  `${path} is not readable and writable for this user: correct its owner and mode, or set ACMERY_DATA_DIR to another folder.`;

/** Turns what a Postgres program wrote before it gave up into a PostgresError. */
export function explainOutput(
  cluster: string,
  output: string,
  options: { readonly happened?: string; readonly cause: unknown },
): PostgresError {
  const { happened = 'did not start', cause } = options;
  const explanation = explanations.find(([pattern]) => pattern.test(output))?.[1];
  const detail = new Error(output.trim() === '' ? 'Postgres wrote nothing.' : output.trim(), { cause });
  return new PostgresError(
    explanation?.(cluster) ?? `Postgres ${happened} on ${cluster}: ${lastComplaint(output)}`,
    detail,
  );
}

/** Turns an error of the file system met below the data folder into a PostgresError; others pass unchanged. */
export function explainFileError(dataDir: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  switch (error.code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new PostgresError(notAccessible(pathOf(error) ?? dataDir), error);
    case 'ENOSPC':
    case 'EDQUOT':
      return new PostgresError(`The disk that holds ${dataDir} is full: free some space and start again.`, error);
    case 'ELOOP':
      return new PostgresError(
        `${pathOf(error) ?? dataDir} is a symbolic link, which nobody of us made: look at it and remove it.`,
        error,
      );
    case 'ENOTDIR':
    case 'EEXIST':
      return new PostgresError(
        `${pathOf(error) ?? dataDir} is not a folder: move it away, or set ACMERY_DATA_DIR to another folder.`,
        error,
      );
    default:
      return error;
  }
}

const pathOf = (error: Error) => ('path' in error && typeof error.path === 'string' ? error.path : undefined);

function lastComplaint(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return (lines.findLast((line) => /FATAL|PANIC|error:/.test(line)) ?? lines.at(-1) ?? 'it wrote nothing.').trim();
}
