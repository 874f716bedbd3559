// The part of node-forge that is used: its ASN.1 codec alone, loaded without the rest of the library.
declare module 'node-forge/lib/asn1.js' {
  export type Asn1 = {
    readonly tagClass: number;
    readonly type: number;
    readonly constructed: boolean;
    /** Children of a constructed node, else the contents as a binary string. */
    readonly value: string | readonly Asn1[];
  };
  type Options = {
    readonly strict: boolean;
    readonly parseAllBytes: boolean;
    readonly decodeBitStrings: boolean;
    readonly maxDepth: number;
  };
  const asn1: {
    create(tagClass: number, type: number, constructed: boolean, value: string | readonly (Asn1 | undefined)[]): Asn1;
    fromDer(bytes: string, options: Options): Asn1;
    toDer(node: Asn1): { getBytes(): string };
    oidToDer(oid: string): { getBytes(): string };
  };
  // biome-ignore lint/style/noDefaultExport: this is how the library exports it
  export default asn1;
}
