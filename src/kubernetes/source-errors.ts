// What an answer of the API server means to the operator.
import { SourceError, type SourceRefusal } from '../operator/ports.ts';
import { ClusterError } from './cluster-error.ts';

/** Runs it; a ClusterError becomes a SourceError, everything else passes. */
export async function asSource<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof ClusterError ? new SourceError(refusalOf(error), error.message, error) : error;
  }
}

/** Undefined instead of the error of an object that is not there. */
export async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** True only where the API server itself says so: a proxy's 404 is no answer. */
export const isMissing = (error: unknown): boolean =>
  error instanceof ClusterError && error.code === 404 && error.isStatus;

export const isForbidden = (error: unknown): boolean => error instanceof ClusterError && error.code === 403;

export const isReason = (error: unknown, reason: 'AlreadyExists' | 'Conflict'): boolean =>
  error instanceof ClusterError && error.reason === reason;

function refusalOf(error: ClusterError): SourceRefusal {
  if (isMissing(error)) return 'gone';
  return refusals[error.code] ?? 'unavailable';
}

/** Not 403: an API server that has just begun knows of no rights yet, and a right that is missing may come any time. */
const refusals: Readonly<Record<number, SourceRefusal>> = {
  400: 'refused',
  405: 'refused',
  409: 'conflict',
  413: 'refused',
  415: 'refused',
  422: 'refused',
};
