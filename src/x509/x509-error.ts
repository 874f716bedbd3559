// The one error of this folder: what is wrong with bytes that came from outside, and what to do about it.

/** Stable codes; doors turn them into their own. */
export type X509ErrorCode =
  | 'malformed'
  | 'too_large'
  | 'wrong_pem'
  | 'encrypted_key'
  | 'unsupported_key'
  | 'weak_key'
  | 'unsupported_algorithm'
  | 'bad_signature'
  | 'bad_name'
  | 'bad_extension';

/** A refusal of keys, certificates, requests or lists. Its message, made a sentence here, never holds key bytes. */
export class X509Error extends Error {
  readonly code: X509ErrorCode;

  constructor(code: X509ErrorCode, message: string) {
    super(message.charAt(0).toUpperCase() + message.slice(1));
    this.name = 'X509Error';
    this.code = code;
  }
}

export const malformed = (what: string, problem: string): X509Error =>
  new X509Error('malformed', `${what} ${problem}.`);
