// All linters, in the order in which they run.
import type { Linter } from './linter.ts';
import { opensslVerify } from './openssl.ts';
import { pkilint } from './pkilint.ts';
import { zlint } from './zlint.ts';

export const linters: readonly Linter[] = [zlint, pkilint, opensslVerify];
