// The rules for an ACME server that names of tests refer to, counted from 1 in each group.

const groups = {
  /** Transport and URLs. */
  HTTP: 18,
  /** The directory document. */
  DIR: 6,
  /** Nonces. */
  NON: 14,
  /** Signatures of requests. */
  JWS: 23,
  /** Problem documents. */
  ERR: 9,
  /** Accounts. */
  ACC: 18,
  /** The list of an account's orders. */
  ORDL: 2,
  /** External account binding. */
  EAB: 10,
  /** Key change. */
  KEY: 7,
  /** Orders. */
  ORD: 29,
  /** Authorizations in advance. */
  PRE: 2,
  /** Authorizations. */
  AUT: 8,
  /** Challenges. */
  CHA: 12,
  /** http-01. */
  H01: 8,
  /** dns-01. */
  D01: 6,
  /** tls-alpn-01. */
  ALP: 6,
  /** Finalize. */
  FIN: 13,
  /** Certificates for download. */
  CRT: 6,
  /** Revocation. */
  REV: 9,
  /** CAA. */
  CAA: 13,
  /** Renewal information. */
  ARI: 10,
  /** Profiles. */
  PRF: 2,
  /** dns-account-01. */
  DAC: 1,
  /** dns-persist-01. */
  DPE: 4,
  /** What real clients rely on. */
  G: 33,
  /** Accounts with auto_approve. */
  AUTO: 7,
  /** What others were attacked by. */
  SEC: 42,
} as const;

export const requirementIds: readonly string[] = Object.entries(groups).flatMap(([group, count]) =>
  Array.from({ length: count }, (_, index) => `${group}-${index + 1}`),
);

const ID = new RegExp(`\\b(?:${Object.keys(groups).join('|')})-\\d+\\b`, 'g');
const TEXT = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;

/** The ids in the names of tests, and in the tables that names come from; comments are none. */
export function idsInNames(source: string): readonly string[] {
  const code = source.replaceAll(/^\s*\/\/.*$|\s\/\/ .*$/gm, '');
  return [...code.matchAll(TEXT)].flatMap(([text]) => idsIn(text));
}

export const idsIn = (text: string): readonly string[] => [...text.matchAll(ID)].map(([id]) => id);
