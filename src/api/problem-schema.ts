// The shape of every error of /v1: a problem document with a stable code.
import { closed, nullable, Type } from '../schema/define.ts';
import { baseProblems, coreProblems, doorProblems } from './problems.ts';
import { named } from './shapes.ts';

/** Every value of `code`, with the status it comes with. */
export const problemCodes: readonly string[] = [
  ...new Set([...Object.keys(coreProblems), ...Object.keys(doorProblems), ...Object.keys(baseProblems)]),
].sort();

const text = (description: string, examples: readonly string[]) => Type.String({ description, examples });

export const problemSchema = named(
  'Problem',
  closed(
    {
      type: text('Where this kind of error is explained, relative to this service.', ['/v1/docs#invalid']),
      title: text('The kind of error in words.', ['Invalid field']),
      status: Type.Integer({ description: 'The HTTP status.', examples: [422] }),
      detail: text('What was expected, what came, and what to do.', [
        'directory.cert_max_days: expected an integer from 0 to 3650, got "90".',
      ]),
      code: text(`The kind of error for programs; new ones may be added. Today: ${problemCodes.join(', ')}.`, [
        'invalid',
      ]),
      request_id: nullable(text('The X-Request-Id under which the log holds this request.', ['0d3a1c52-7f6e-4f0b'])),
      errors: Type.Unsafe({
        type: 'array',
        description: 'All fields or parameters at fault; empty when none is.',
        items: closed({
          field: text('The field as the caller wrote it.', ['directory.cert_max_days']),
          code: text('What is wrong with it, for programs.', ['wrong_type']),
          message: text('What is wrong with it, for people.', ['expected an integer from 0 to 3650, got "90"']),
        }),
      }),
    },
    { description: 'A problem document (RFC 9457).' },
  ),
);
