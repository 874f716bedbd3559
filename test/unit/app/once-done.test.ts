import { expect, test } from 'vitest';
import { onceDone } from '../../../src/app/once-done.ts';

const never = new AbortController().signal;

test('what has succeeded once is not done again', async () => {
  let times = 0;
  const check = onceDone(async () => void times++);
  await check(never);
  await check(never);
  expect(times).toBe(1);
});

test('who asks while it is under way waits with the first; what failed is begun again', async () => {
  const outcomes = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let times = 0;
  const check = onceDone(() => outcomes[times++]?.promise);
  const both = [check(never), check(never)];
  outcomes[0]?.reject(new Error('not there'));
  await expect(Promise.allSettled(both)).resolves.toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
  expect(times).toBe(1);
  outcomes[1]?.resolve();
  await check(never);
  expect(times).toBe(2);
});

test('what cannot be begun yet has not failed for good', async () => {
  let isThere = false;
  const check = onceDone(() => (isThere ? Promise.resolve() : undefined));
  await expect(check(never)).rejects.toThrow('not begun yet');
  isThere = true;
  await check(never);
});
