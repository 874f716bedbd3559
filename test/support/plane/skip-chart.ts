// Vitest setup file of the chart's tests: without Helm each of them is skipped and says why.
import { beforeEach } from 'vitest';
import { withoutHelm } from '../chart.ts';

beforeEach(({ skip }) => {
  const reason = withoutHelm();
  if (reason !== undefined) skip(reason);
});
