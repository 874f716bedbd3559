// A self-signed P-256 certificate for 127.0.0.1 and localhost, written in DER by hand so that it may be wrong on purpose.
import { generateKeyPairSync, sign } from 'node:crypto';
import type { TlsPair } from '../../src/http/tls-source.ts';

const DAY_MS = 86_400_000;

const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const time = (date: Date) => der(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]|\.\d+/g, '')}`));

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const subjectAltName = sequence(
  oid('551d11'),
  der(0x04, sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])))),
);

export function selfSigned({ commonName = 'localhost', fromDays = -1, toDays = 30 } = {}): TlsPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))));
  const notAfter = new Date(Math.floor(Date.now() / 1000) * 1000 + toDays * DAY_MS);
  const tbs = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    sequence(time(new Date(Date.now() + fromDays * DAY_MS)), time(notAfter)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(subjectAltName)),
  );
  const signature = sign('sha256', tbs, privateKey);
  const certificate = sequence(tbs, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  const base64 = certificate.toString('base64').replace(/.{64}/g, '$&\n').trimEnd();
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    notAfter,
  };
}
