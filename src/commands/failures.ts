// What a person is told when a command ends by an error: the sentence of an expected one, everything of a bug.
import { CommanderError } from 'commander';
import { SettingsError } from '../config/load.ts';
import { CaError } from '../core/errors.ts';
import { ListenError } from '../http/listen-address.ts';
import { TlsPairError } from '../http/tls-source.ts';
import { PostgresError } from '../postgres/failure.ts';
import { DatabaseUnavailable, DatabaseUrlError } from '../store/database-error.ts';
import { SchemaOutdated, SchemaTooNew } from '../store/migrate.ts';

export type Failure = { readonly lines: readonly string[]; readonly exitCode: number };

/** Errors whose message is a complete sentence for the operator. */
const expected = [
  CaError,
  DatabaseUnavailable,
  DatabaseUrlError,
  ListenError,
  PostgresError,
  SchemaOutdated,
  SchemaTooNew,
  TlsPairError,
] as const;

export function failureLines(error: unknown): Failure {
  // Commander has printed its own line; help and version come as errors with exit code 0.
  if (error instanceof CommanderError) return { lines: [], exitCode: error.exitCode === 0 ? 0 : 2 };
  if (error instanceof SettingsError) return { lines: error.lines, exitCode: 2 };
  const isExpected = expected.some((kind) => error instanceof kind);
  if (error instanceof Error && isExpected) return { lines: [`acmery: ${error.message}`], exitCode: 1 };
  return { lines: [error instanceof Error ? (error.stack ?? error.message) : String(error)], exitCode: 1 };
}
