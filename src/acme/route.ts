// A row of the ACME route table: where it is, whose key signs the request, which payload it takes, and what answers it.
import type { AccountKey } from '../core/account-key.ts';
import type { AcmeAccount, AcmeDirectory } from '../core/acme-requests.ts';
import type { Ca } from '../core/ca.ts';
import type { HttpHeaders } from '../http/route.ts';
import type { Static, TSchema } from '../schema/define.ts';

/** What every request stands on, signed or not. */
export type AcmeRequest = {
  readonly ca: Ca;
  /** As it is now, with the slug that the request used. */
  readonly directory: AcmeDirectory;
  /** Text of the `:names` in the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The `Accept` header. */
  readonly accept: string | undefined;
  readonly clientAddress: string;
  readonly requestId: string;
  readonly signal: AbortSignal;
};

/** Signed by the key of a valid account of this directory. */
export type ByAccount = { readonly account: AcmeAccount };
/** Signed by the key that the request itself holds. `url` is that of the request: inner JWS repeat it. */
export type ByKey = { readonly key: AccountKey };

export type Signers = {
  account: ByAccount & { readonly url: string };
  newKey: ByKey & { readonly url: string };
  /** revokeCert: an account, or the key of the certificate (RFC 8555 section 7.6). */
  accountOrCertificateKey: { readonly signer: ByAccount | ByKey; readonly url: string };
};

export type AcmeReply = {
  readonly status: number;
  readonly json?: unknown;
  readonly content?: { readonly mediaType: string; readonly bytes: string | Buffer };
  readonly headers?: HttpHeaders;
};

type Handle<Request> = (request: Request) => Promise<AcmeReply>;

/** Without a signature: the directory, nonces, renewal information. HEAD is answered wherever GET is. */
export type OpenRoute = {
  readonly path: string;
  readonly signer: 'none';
  readonly handle: Handle<AcmeRequest>;
};

/** A POST in a JWS. `json` undefined: POST-as-GET alone, whose payload is the empty string (HTTP-7). */
export type SignedRoute<Signer extends keyof Signers, Json extends TSchema | undefined> = {
  readonly path: string;
  readonly signer: Signer;
  /** Members that the schema does not name are ignored (ORD-29). */
  readonly json: Json;
  /** Whether the empty payload is taken too, and comes as undefined. */
  readonly orEmpty: boolean;
  readonly handle: Handle<
    AcmeRequest & Signers[Signer] & { readonly payload: Json extends TSchema ? Static<Json> | undefined : undefined }
  >;
};
