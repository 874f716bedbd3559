// Vitest setup file of the cluster tests: without a plane each of them is skipped and says why.
import { beforeEach, inject } from 'vitest';

const plane = inject('plane');

beforeEach(({ skip }) => {
  if ('unavailable' in plane) skip(plane.unavailable);
});
