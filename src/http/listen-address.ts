// Where to listen, and one clear sentence for each way in which that can fail.

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
