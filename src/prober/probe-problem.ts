// Why an attempt did not succeed, thrown from wherever in a probe it shows itself.
import type { ProbeFailure } from '../core/ports.ts';

/** `message` is the detail that the ACME client reads: it holds nothing that the target has sent (SEC-4, ERR-8). */
export class ProbeProblem extends Error {
  readonly type: ProbeFailure;

  constructor(type: ProbeFailure, detail: string) {
    super(detail);
    this.name = 'ProbeProblem';
    this.type = type;
  }
}
