// Where to listen, and one clear sentence for each way in which that can fail.
import { isIPv6 } from 'node:net';

/** An empty host: every address of the machine, in each protocol that it speaks. */
export type ListenAddress = { readonly host: string; readonly port: number };

/** Cannot listen; the message names the setting to change. */
export class ListenError extends Error {
  readonly setting: string;

  constructor(setting: string, sentence: string, cause?: unknown) {
    super(`${setting}: ${sentence}`, { cause });
    this.name = 'ListenError';
    this.setting = setting;
  }
}

/** `127.0.0.1:8443`, `[::1]:8443`, `localhost:8443`, or `:8443` for every address of the machine. */
export function parseListenAddress(setting: string, text: string): ListenAddress {
  const parts = /^(?:\[([^\]]*)\]|([^:[\]\s/]*)):(\d{1,5})$/.exec(text);
  const [, ipv6, host = '', digits] = parts ?? [];
  const port = Number(digits);
  if (parts === null || port > 65_535 || (ipv6 !== undefined && !isIPv6(ipv6)))
    throw new ListenError(
      setting,
      `"${text}" is not an address to listen on; write it as 127.0.0.1:8443 or [::1]:8443.`,
    );
  return { host: ipv6 ?? host, port };
}

export const formatAddress = ({ host, port }: ListenAddress) => `${host.includes(':') ? `[${host}]` : host}:${port}`;

export function listenError(setting: string, address: ListenAddress, error: NodeJS.ErrnoException): ListenError {
  const explain = sentences[error.code ?? ''];
  const sentence = explain?.(address) ?? `cannot listen on ${formatAddress(address)}: ${error.message}.`;
  return new ListenError(setting, sentence, error);
}

const unknownHost = ({ host }: ListenAddress) =>
  `the host name "${host}" does not resolve; use an IP address of this machine.`;

const sentences: Readonly<Record<string, (address: ListenAddress) => string>> = {
  EADDRINUSE: (address) =>
    `${formatAddress(address)} is in use by another program (or a second Acmery); stop that one or choose another port.`,
  EACCES: (address) =>
    `this user may not listen on ${formatAddress(address)}; choose a port above 1023, or grant CAP_NET_BIND_SERVICE.`,
  EPERM: (address) => `the system forbids listening on ${formatAddress(address)}; choose another port.`,
  EADDRNOTAVAIL: ({ host }) =>
    `${host} is not an address of this machine; use one that is, or 0.0.0.0 for all of them.`,
  EAFNOSUPPORT: ({ host }) =>
    `this machine does not speak the protocol of ${host}; use an address of the other family.`,
  ENOTFOUND: unknownHost,
  EAI_AGAIN: unknownHost,
};
