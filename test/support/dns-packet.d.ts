// What the fake DNS server uses of dns-packet, which brings no types.
declare module 'dns-packet' {
  type Question = { readonly type: string; readonly name: string };
  type Answer = { readonly type: string; readonly name: string; readonly ttl?: number; readonly data: unknown };
  type Packet = {
    readonly id?: number;
    readonly type?: 'query' | 'response';
    readonly flags?: number;
    readonly questions?: readonly Question[];
    readonly answers?: readonly Answer[];
  };
  export function decode(message: Buffer): Packet;
  export function encode(packet: Packet): Buffer;
  export const RECURSION_AVAILABLE: number;
  export const RECURSION_DESIRED: number;
  export const TRUNCATED_RESPONSE: number;
}
