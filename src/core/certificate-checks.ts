// Runs a list of checks over a certificate, and gives everything that they find.
import type { Certificate } from '../x509/certificate.ts';
import { X509Error } from '../x509/x509-error.ts';
import type { FieldProblem } from './errors.ts';

export type Problem = Omit<FieldProblem, 'field'>;

/** Undefined when there is nothing to say; a refusal of keys or signatures that it throws is a problem too. */
export type Check<Context> = (
  certificate: Certificate,
  context: Context,
) => Problem | undefined | Promise<Problem | undefined>;

export async function checkAll<Context>(
  checks: readonly Check<Context>[],
  certificate: Certificate,
  context: Context,
): Promise<readonly Problem[]> {
  const found: Problem[] = [];
  for (const check of checks) {
    const problem = await resultOf(async () => check(certificate, context));
    if (problem !== undefined && !found.some(({ message }) => message === problem.message)) found.push(problem);
  }
  return found;
}

async function resultOf(check: () => Promise<Problem | undefined>): Promise<Problem | undefined> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof X509Error) return { code: error.code, message: error.message };
    throw error;
  }
}
