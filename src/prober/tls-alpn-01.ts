// tls-alpn-01 (RFC 8737, RFC 8738): a TLS handshake at port 443 that ends in a self-signed certificate with the digest.
import { createHash } from 'node:crypto';
import { parseAddress } from '../x509/ip-address.ts';
import { alpnObjection } from './alpn-certificate.ts';
import { connectTo } from './connect.ts';
import { startTls } from './handshake.ts';
import type { Prober } from './network.ts';
import { ProbeProblem } from './probe-problem.ts';

const PROTOCOL = 'acme-tls/1';

export const probeTlsAlpn01: Prober = async (network, { identifier, keyAuthorization }, signal) => {
  const { tlsPort: port, stepMs: deadlineMs } = network;
  const { value } = identifier;
  const serverName = identifier.type === 'ip' ? reverseName(value) : value;
  const expected = `a TLS handshake by protocol ${PROTOCOL} with server name ${serverName}`;
  const connection = await connectTo(network, { host: value, port, shownAs: value }, signal);
  try {
    const secure = await startTls(connection, { deadlineMs, signal, serverName, protocol: PROTOCOL, expected });
    const { address } = connection;
    if (secure.alpnProtocol !== PROTOCOL)
      throw new ProbeProblem('tls', `Expected ${expected}; ${address} speaks TLS but ignores the protocol (ALPN).`);
    const digest = createHash('sha256').update(keyAuthorization).digest();
    const der = secure.getPeerX509Certificate()?.raw;
    if (der === undefined) throw new ProbeProblem('tls', `Expected ${expected}; ${address} sent no certificate.`);
    const objection = await alpnObjection(der, { identifier, digest });
    if (objection === undefined) return { outcome: 'valid' };
    const wanted = `a self-signed certificate for ${value} whose acmeIdentifier is ${digest.toString('hex')}`;
    throw new ProbeProblem('incorrectResponse', `Expected ${wanted}; ${address} sent one ${objection}.`);
  } finally {
    connection.socket.destroy();
  }
};

/** ALP-5: the name under which DNS knows the address. */
function reverseName(address: string): string {
  const octets = parseAddress(address);
  if (octets.length === 4) return `${[...octets].reverse().join('.')}.in-addr.arpa`;
  return `${[...octets.toString('hex')].reverse().join('.')}.ip6.arpa`;
}
