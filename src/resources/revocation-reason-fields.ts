// The two forms in which a body gives the reason of a revocation.
import { oneOf, Type } from '../schema/define.ts';
import { revocationReasonNames, revocationReasonNumbers, revocationReasons } from './revocation-reasons.ts';

export const revocationReasonFields = {
  reason: Type.Optional(
    Type.Unsafe<number>({
      type: 'integer',
      enum: revocationReasonNumbers,
      description: `Number of the reason: ${revocationReasonNames
        .map((name) => `${revocationReasons[name].number} ${name}`)
        .join(', ')}.`,
    }),
  ),
  revoke_reason: Type.Optional(oneOf(revocationReasonNames, { description: 'Name of the reason.' })),
};
