// Reads the API server's audit log: every request that was answered, with who, what and the status.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export type AuditedRequest = {
  readonly user: string;
  readonly userAgent: string;
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, ... */
  readonly verb: string;
  /** Path and query. */
  readonly uri: string;
  /** Plural, with a subresource: `secrets`, `externalbindings/status`. Undefined where the path names none. */
  readonly resource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly status: number;
};

type Line = {
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
};

/** In the order of their ends; a watch is there once it has ended. */
export async function readAudit(folder: string, user: string): Promise<readonly AuditedRequest[]> {
  const text = await readFile(join(folder, 'audit.log'), 'utf8');
  // The last line may be half written.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines
    .filter((line) => line.includes(JSON.stringify(user)))
    .map((line) => requestOf(JSON.parse(line)))
    .filter((request) => request.user === user);
}

function requestOf({ user, userAgent, verb, requestURI, objectRef, responseStatus }: Line): AuditedRequest {
  const resource = [objectRef?.resource, objectRef?.subresource].filter((part) => part !== undefined).join('/');
  return {
    user: user.username,
    userAgent: userAgent ?? '',
    verb,
    uri: requestURI,
    resource: resource === '' ? undefined : resource,
    namespace: objectRef?.namespace,
    name: objectRef?.name,
    status: responseStatus?.code ?? 0,
  };
}
