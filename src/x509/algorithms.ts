// Everything that is known about one key type, one row each.

export const keyTypes = ['ec_256', 'ec_384', 'ec_521', 'rsa_2048', 'rsa_3072', 'rsa_4096'] as const;
export type KeyType = (typeof keyTypes)[number];
