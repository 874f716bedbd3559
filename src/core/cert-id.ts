// The name that a certificate has in renewal information: its issuer's key and its serial number (RFC 9773 section 4.1).

export type CertId = {
  readonly keyIdentifier: Buffer;
  /** Without leading zero bytes, as it is stored. */
  readonly serial: Buffer;
};

const FORM = /^([\w-]{1,128})\.([\w-]{1,64})$/;

/** Serial numbers with and without the zero byte before a high bit are taken (ARI-2). Undefined for what is no CertID. */
export function readCertId(text: string): CertId | undefined {
  const match = FORM.exec(text);
  const keyIdentifier = base64url(match?.[1] ?? '');
  const serial = withoutLeadingZeros(base64url(match?.[2] ?? ''));
  return keyIdentifier.length === 0 || serial.length === 0 ? undefined : { keyIdentifier, serial };
}

/** As RFC 9773 writes it: the serial number as in DER. */
export const certIdText = ({ keyIdentifier, serial }: CertId): string =>
  `${keyIdentifier.toString('base64url')}.${derInteger(serial).toString('base64url')}`;

/** Empty where the text is not what these bytes are written as: of two spellings one would be another resource. */
function base64url(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : Buffer.alloc(0);
}

function withoutLeadingZeros(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  return first === -1 ? Buffer.alloc(0) : bytes.subarray(first);
}

const derInteger = (serial: Buffer): Buffer =>
  (serial[0] ?? 0) < 0x80 ? serial : Buffer.concat([Buffer.of(0), serial]);
