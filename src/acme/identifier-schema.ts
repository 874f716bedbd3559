// An identifier as clients send it. What it may be, the core says, with a subproblem for each (ERR-2).
import { Type } from '../schema/define.ts';

const LONGEST_TYPE = 100;
/** Far above what any name has, so that one that is too long is told by its own rule. */
const LONGEST_VALUE = 1_000;

export const identifierSchema = Type.Object({
  type: Type.String({ maxLength: LONGEST_TYPE }),
  value: Type.String({ maxLength: LONGEST_VALUE }),
});
