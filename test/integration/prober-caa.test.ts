import { expect, test } from 'vitest';
import { createCaaResolver } from '../../src/prober/caa.ts';
import { createResolver } from '../../src/prober/resolver.ts';
import { type CaaData, type FakeDns, fakeDns, type Script } from '../support/fake-dns.ts';

const never = new AbortController().signal;
const issue = (value: string): CaaData => ({ flags: 0, tag: 'issue', value });
const here = issue('ca.example');
const elsewhere = issue('other.example');

const caaOver = (dns: FakeDns, timeoutMs = 200) =>
  createCaaResolver(createResolver({ servers: [dns.address], timeoutMs, tries: 1 }));

const lookUp = async (name: string, zone: Record<string, Script>) => {
  await using dns = await fakeDns(zone);
  return await caaOver(dns)(name, never);
};

const nameOf = (labels: number): string => Array.from({ length: labels }, (_, index) => `l${index}`).join('.');

test.each([
  [
    'at the name',
    { 'a.b.example': { caa: [here] }, 'b.example': { caa: [elsewhere] }, example: 'servfail' },
    'a.b.example',
  ],
  [
    'at its parent',
    { 'a.b.example': 'nodata', 'b.example': { caa: [here] }, example: { caa: [elsewhere] } },
    'b.example',
  ],
  [
    'at the top-level domain',
    { 'a.b.example': 'nxdomain', 'b.example': 'nodata', example: { caa: [here] } },
    'example',
  ],
] as [string, Record<string, Script>, string][])(
  'CAA-1: of several record sets the one %s, being the nearest, governs',
  async (_where, zone, name) => {
    expect(await lookUp('a.b.example', zone)).toEqual({ outcome: 'found', name, records: [here] });
  },
);

test('CAA-1: *. is stripped, and so is a final dot', async () => {
  const zone: Record<string, Script> = { '*.a.example': { caa: [elsewhere] }, 'a.example': { caa: [here] } };
  expect(await lookUp('*.a.example', zone)).toEqual({ outcome: 'found', name: 'a.example', records: [here] });
  expect(await lookUp('a.example.', zone)).toEqual({ outcome: 'found', name: 'a.example', records: [here] });
});

test('CAA-1: an alias is followed at its level, and the climb goes on from the original name', async () => {
  const zone: Record<string, Script> = {
    'www.corp.example': { cname: 'web.other.test' },
    'web.other.test': 'nodata',
    'other.test': { caa: [elsewhere] },
    'corp.example': { caa: [here] },
  };
  expect(await lookUp('www.corp.example', zone)).toEqual({
    outcome: 'found',
    name: 'corp.example',
    records: [here],
  });
});

test('CAA-1: no set up to the top-level domain is none, and the root is not asked', async () => {
  await using dns = await fakeDns({});
  expect(await caaOver(dns)('a.b.example', never)).toEqual({ outcome: 'none' });
  expect(dns.queries.map(({ name }) => name).sort()).toEqual(['a.b.example', 'b.example', 'example']);
});

test.each(['servfail', 'refused', 'silent', 'malformed'] as const)(
  'CAA-10: %s below the first set is a failure that says which name',
  async (script) => {
    expect(await lookUp('a.b.example', { 'a.b.example': script, 'b.example': { caa: [here] } })).toMatchObject({
      outcome: 'failed',
      name: 'a.b.example',
      detail: expect.stringContaining('The CAA query for a.b.example got '),
    });
  },
);

test('CAA-10: an error at a level above which nothing was found is a failure', async () => {
  expect(await lookUp('a.b.example', { 'b.example': 'servfail' })).toMatchObject({
    outcome: 'failed',
    name: 'b.example',
  });
  expect(await lookUp('a.b.example', { example: 'refused' })).toMatchObject({ outcome: 'failed', answer: 'REFUSED' });
});

// c-ares gives up by itself after 6 s.
test('CAA-10: an error above the nearest set changes nothing, and is not waited for', { timeout: 4_000 }, async () => {
  await using dns = await fakeDns({ 'a.example': { caa: [here] }, example: 'silent' });
  expect(await caaOver(dns, 3_600_000)('a.example', never)).toMatchObject({ outcome: 'found', name: 'a.example' });
});

test('CAA-12: levels are asked in parallel, four at a time', async () => {
  await using dns = await fakeDns({}, { holdUntil: 4 });
  expect(await caaOver(dns, 5_000)(nameOf(16), never)).toEqual({ outcome: 'none' });
  expect(dns.mostAtOnce).toBe(4);
  expect(dns.queries).toHaveLength(16);
});

test('CAA-12: a name of more than 16 labels is a failure, and nothing is asked', async () => {
  await using dns = await fakeDns({});
  expect(await caaOver(dns)(nameOf(17), never)).toMatchObject({
    outcome: 'failed',
    detail: expect.stringContaining('has 17'),
  });
  expect(dns.queries).toEqual([]);
});

test('an abort ends the climb with its reason', { timeout: 4_000 }, async () => {
  await using dns = await fakeDns({ 'a.example': 'silent' });
  const stop = new AbortController();
  const reason = new Error('deadline of the order');
  const climb = caaOver(dns, 3_600_000)('a.example', stop.signal);
  stop.abort(reason);
  await expect(climb).rejects.toBe(reason);
});
