// A row of the ACME route table: where it is, whose key signs the request, which payload it takes, and what answers it.
import type { AccountKey } from '../core/account-key.ts';
import type { AcmeAccount, AcmeDirectory } from '../core/acme-requests.ts';
import type { Ca } from '../core/ca.ts';
import type { HttpHead, HttpHeaders } from '../http/route.ts';
import type { Static, TSchema } from '../schema/define.ts';

/** What every request stands on, signed or not. */
export type AcmeRequest = {
  readonly ca: Ca;
  readonly method: 'GET' | 'HEAD' | 'POST';
  /** As it is now, with the slug that the request used. */
  readonly directory: AcmeDirectory;
  /** Text of the `:names` in the path. */
  readonly params: Readonly<Record<string, string>>;
  /** The `Accept` header. */
  readonly accept: string | undefined;
  readonly clientAddress: string;
  readonly requestId: string;
  /** As the base has them: each is made when it is asked for. */
  readonly head: Pick<HttpHead, 'query' | 'signal'>;
};

/** Signed by the key of a valid account of this directory. */
export type ByAccount = {
  readonly account: AcmeAccount;
  /** The URL of the account as this request names it: under any slug of the directory. */
  readonly kid: string;
};
/** Signed by the key that the request itself holds. */
type ByKey = { readonly key: AccountKey };

/** `url` is that of the request: inner JWS repeat it. */
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

type Handle<Request> = (request: Request) => AcmeReply | Promise<AcmeReply>;

/** Without a signature: the directory, nonces, renewal information. HEAD is answered wherever GET is, and POST-as-GET. */
export type OpenRoute = {
  readonly path: string;
  /** Other paths of the same thing. */
  readonly alsoAt?: readonly string[];
  /** It decides nothing by its directory, which it is given as it was up to a second ago. */
  readonly mayLag?: true;
  readonly signer: 'none';
  readonly handle: Handle<AcmeRequest>;
};

/** What came in the JWS; undefined for the empty string. */
type Payload<Json, OrEmpty> = Json extends TSchema
  ? Static<Json> | (OrEmpty extends true ? undefined : never)
  : undefined;

type Asking = Pick<AcmeRequest, 'ca' | 'params'>;
type AskingAccount = Asking & { readonly accountId: string };
type AskingKey = Asking & ByKey;

/** Who says that he signed a request, before anything of it is verified. */
export type Claimed = {
  account: AskingAccount;
  newKey: AskingKey;
  accountOrCertificateKey: AskingAccount | AskingKey;
};

/** A POST in a JWS. Without `json` it is POST-as-GET alone, whose payload is the empty string (HTTP-7). */
type SignedRow<Signer extends keyof Signers, Json extends TSchema | undefined, OrEmpty extends boolean, Ahead> = {
  readonly path: string;
  readonly signer: Signer;
  /** Members that the schema does not name are ignored (ORD-29). */
  readonly json?: Json;
  /** Whether the empty payload is taken beside JSON. */
  readonly orEmpty?: OrEmpty;
  /**
   * A read that needs no round trip of its own: it is sent with what verifies the request. What it finds is not the
   * requester's until the handler has compared its account, or key, and its directory with those that were verified.
   */
  readonly ahead?: (claimed: Claimed[Signer]) => Promise<Ahead>;
  readonly handle: Handle<
    SignedRequest & Signers[Signer] & { readonly payload: Payload<Json, OrEmpty>; readonly ahead: Promise<Ahead> }
  >;
};

/** What the checks give to every signed row. */
export type SignedRequest = AcmeRequest & {
  readonly url: string;
  readonly payload: unknown;
  readonly ahead: Promise<unknown> | undefined;
};

/** A signed row as the door has it: whatever its handler sees, the checks have made. */
export type SignedRoute = {
  readonly path: string;
  readonly signer: keyof Signers;
  readonly json?: TSchema | undefined;
  readonly orEmpty?: boolean;
  ahead?(claimed: Claimed[keyof Signers]): Promise<unknown>;
  handle(request: SignedRequest): AcmeReply | Promise<AcmeReply>;
};

export type AcmeRoute = OpenRoute | SignedRoute;

export const openRoute = (row: Omit<OpenRoute, 'signer'>): OpenRoute => ({ ...row, signer: 'none' });

/** A row whose handler sees signer and payload as the row declares them. */
export const signedRoute = <
  const Signer extends keyof Signers,
  Json extends TSchema | undefined = undefined,
  const OrEmpty extends boolean = false,
  Ahead = undefined,
>(
  row: SignedRow<Signer, Json, OrEmpty, Ahead>,
): SignedRoute => row;
