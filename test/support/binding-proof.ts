// The proof that a client holds the MAC key of an EAB token, as the door hands it to the core.
import { createHmac } from 'node:crypto';
import { type BindingProof, type MacAlgorithm, macAlgorithms } from '../../src/core/external-account.ts';

type Token = { readonly id: string; readonly macKey?: string | undefined };
type Wanted = { readonly kid?: string; readonly algorithm?: MacAlgorithm; readonly macKey?: string };

export function bindingProof(
  token: Token,
  kid: string,
  { algorithm = 'HS256', macKey = token.macKey ?? '' }: Wanted = {},
): BindingProof {
  const signed = 'cHJvdGVjdGVk.cGF5bG9hZA';
  const mac = createHmac(macAlgorithms[algorithm], Buffer.from(macKey, 'base64url')).update(signed).digest();
  const jws = JSON.stringify({
    protected: 'cHJvdGVjdGVk',
    payload: 'cGF5bG9hZA',
    signature: mac.toString('base64url'),
  });
  return { kid, algorithm, signed, mac, jws };
}
