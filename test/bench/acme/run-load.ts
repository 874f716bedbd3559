// Starts a load on an ACME server and waits for what came of it.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ResponderPorts } from './responder.ts';
import type { Seen, Watched } from './tally.ts';

/** A P-256 private key as a JWK. */
export type AccountJwk = { readonly [member: string]: string };

/** An account, or how a new one is registered. */
export type Applicant = Account | { readonly eab?: Eab };

export type Account = { readonly jwk: AccountJwk; readonly url: string };

export type Eab = { readonly kid: string; readonly hmacKey: string };

/**
 * What is done over and over: whole orders (answering http-01 challenges where the server asks for them), orders that are only
 * begun, registrations, or nonces.
 */
export type Job = 'orders' | 'new-orders' | 'accounts' | 'nonces';

export type AcmeLoad = {
  readonly job: Job;
  readonly directoryUrl: string;
  /** PEM of the anchor that the server's certificate is verified with. */
  readonly ca: string;
  /** Who places orders, connection after connection in turn. */
  readonly applicants: readonly Applicant[];
  readonly inFlight: number;
  /** Ends when either is reached. */
  readonly seconds: number;
  readonly most?: number;
  /** Before the window opens. */
  readonly warmUpSeconds: number;
  /** The pause before a state is asked for again: the first one, and by what each further one is longer. */
  readonly poll: { readonly firstMs: number; readonly factor: number };
  /** Where the server looks for the names that are asked for. */
  readonly responder: ResponderPorts;
  /** Process ids whose use of the processor is measured. */
  readonly watch: Readonly<Partial<Record<Watched, number>>>;
};

export type AcmeLoadResult = Seen & {
  /** Of orders, accounts or nonces, from the first to the last; in the window: `kinds`. */
  readonly done: number;
  readonly badNonces: number;
  readonly accounts: readonly Account[];
};

const PROGRAM = join(import.meta.dirname, 'load.ts');

export async function runAcmeLoad(load: AcmeLoad): Promise<AcmeLoadResult> {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(load));
  const output = await text(child.stdout);
  if (output === '') throw new Error(`The load on ${load.directoryUrl} ended without a result.`);
  return JSON.parse(output);
}
