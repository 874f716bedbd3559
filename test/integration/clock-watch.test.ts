// This machine's clock against the one of a real database.
import { expect, test } from 'vitest';
import { ClockWatch } from '../../src/core/clock-watch.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { eventually } from '../support/eventually.ts';
import { givenRoot } from '../support/given-signing-cert.ts';

const HOUR_MS = 3_600_000;

/** Sets the clock to that of this machine, and so of the database, and some milliseconds ahead. */
function setClock({ ca: { clock } }: TestCa, aheadMs: number): void {
  clock.advance(Date.now() + aheadMs - clock.now().getTime());
}

const told = ({ logLines }: TestCa) => logLines.map((line) => JSON.parse(line)).filter(({ skewMs }) => skewMs);

test.each([
  ['ahead of', HOUR_MS],
  ['behind', -HOUR_MS],
])('a clock an hour %s the database fails the check with what to do, until it is set', async (where, aheadMs) => {
  await using test = await testCa();
  const clocks = new ClockWatch(test.ca);

  setClock(test, aheadMs);
  await expect(clocks.check()).rejects.toThrow(
    new RegExp(`clock is (3600|3599|3601) s ${where} the database's; set both by NTP`),
  );
  expect(told(test)).toEqual([expect.objectContaining({ level: 'error' })]);

  setClock(test, 0);
  await clocks.compare();
  await clocks.check();
});

test('some seconds are told, and tolerated', async () => {
  await using test = await testCa();
  const clocks = new ClockWatch(test.ca);

  setClock(test, 10_000);
  await clocks.check();

  expect(told(test)).toEqual([expect.objectContaining({ level: 'warn' })]);
});

test('who waits for agreement goes on once the clock is right', async () => {
  await using test = await testCa();
  const clocks = new ClockWatch(test.ca);
  setClock(test, HOUR_MS);
  let agrees = false;

  const waiting = clocks.agreement(new AbortController().signal, 5).then(() => {
    agrees = true;
  });
  await eventually('the clock has been looked at twice', () => told(test).length >= 2);
  expect(agrees).toBe(false);
  setClock(test, 0);
  await waiting;
});

test('a stop ends the wait for agreement', async () => {
  await using test = await testCa();
  const stopping = new AbortController();
  setClock(test, HOUR_MS);

  const waiting = new ClockWatch(test.ca).agreement(stopping.signal);
  stopping.abort();

  await expect(waiting).rejects.toThrow();
});

test('SEC-32: nothing is signed by a clock that is off, and everything again once it is set', async () => {
  await using test = await testCa();
  const clocks = new ClockWatch(test.ca);
  const ca = { ...test.ca, clock: clocks };
  setClock(test, HOUR_MS);
  await clocks.compare();

  await expect(givenRoot(ca)).rejects.toMatchObject({ kind: 'unavailable' });

  setClock(test, 0);
  await clocks.compare();
  expect(await givenRoot(ca)).toMatchObject({ certType: 'root' });
});
