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

const none = (name: string) => ({ name, records: [] });

test.each<[string, Record<string, Script>, string[], string]>([
  ['at the name', { 'a.b.example': { caa: [here] }, 'b.example': { caa: [elsewhere] } }, [], 'a.b.example'],
  [
    'at its parent',
    { 'a.b.example': 'nodata', 'b.example': { caa: [here] }, example: { caa: [elsewhere] } },
    ['a.b.example'],
    'b.example',
  ],
  [
    'at the top-level domain',
    { 'b.example': 'nodata', example: { caa: [here] } },
    ['a.b.example', 'b.example'],
    'example',
  ],
])('CAA-1: of several record sets the one %s, being the nearest, ends the climb', async (_where, zone, below, name) => {
  expect(await lookUp('a.b.example', zone)).toEqual([...below.map(none), { name, records: [here] }]);
});

test('CAA-1: *. is stripped', async () => {
  const zone: Record<string, Script> = { '*.a.example': { caa: [elsewhere] }, 'a.example': { caa: [here] } };
  expect(await lookUp('*.a.example', zone)).toEqual([{ name: 'a.example', records: [here] }]);
});

test('CAA-1: an alias is followed at its level, and the climb goes on from the original name', async () => {
  const zone: Record<string, Script> = {
    'www.corp.example': { cname: 'web.other.test' },
    'web.other.test': 'nodata',
    'other.test': { caa: [elsewhere] },
    'corp.example': { caa: [here] },
  };
  expect(await lookUp('www.corp.example', zone)).toEqual([
    none('www.corp.example'),
    { name: 'corp.example', records: [here] },
  ]);
});

test('CAA-1: the climb ends at the top-level domain, and the root is not asked', async () => {
  await using dns = await fakeDns({});
  const levels = ['a.b.example', 'b.example', 'example'];
  expect(await caaOver(dns)('a.b.example', never)).toEqual(levels.map(none));
  expect(dns.queries.map(({ name }) => name).sort()).toEqual(levels);
});

test.each([
  ['servfail', 'SERVFAIL'],
  ['refused', 'REFUSED'],
  ['silent', 'no answer in time'],
  ['malformed', 'a malformed answer'],
] as const)('CAA-10: %s below the first set is a failure that says which name and what', async (script, failure) => {
  expect(await lookUp('a.b.example', { 'a.b.example': script, 'b.example': { caa: [here] } })).toEqual([
    { name: 'a.b.example', failure },
  ]);
});

test('CAA-10: an error at a level above which nothing was found is a failure', async () => {
  expect(await lookUp('a.example', { example: 'refused' })).toEqual([
    none('a.example'),
    { name: 'example', failure: 'REFUSED' },
  ]);
});

// c-ares gives up by itself after 6 s.
test('CAA-10: an error above the nearest set changes nothing, and is not waited for', { timeout: 4_000 }, async () => {
  await using dns = await fakeDns({ 'a.example': { caa: [here] }, example: 'silent' });
  expect(await caaOver(dns, 3_600_000)('a.example', never)).toEqual([{ name: 'a.example', records: [here] }]);
});

test('CAA-12: levels are asked in parallel, four at a time', async () => {
  await using dns = await fakeDns({}, { holdUntil: 4 });
  expect(await caaOver(dns, 5_000)(nameOf(16), never)).toHaveLength(16);
  expect(dns.mostAtOnce).toBe(4);
  expect(dns.queries).toHaveLength(16);
});

test('CAA-12: a name of more than 16 labels is a failure, and nothing is asked', async () => {
  await using dns = await fakeDns({});
  expect(await caaOver(dns)(nameOf(17), never)).toEqual([
    { name: nameOf(17), failure: 'it has 17 labels, and at most 16 are looked up' },
  ]);
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
