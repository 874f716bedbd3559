import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { createResolver } from '../../src/prober/resolver.ts';
import { type CaaData, fakeDns, type Script } from '../support/fake-dns.ts';

const never = new AbortController().signal;
const issue = (value: string): CaaData => ({ flags: 0, tag: 'issue', value });

const lookUp = async (name: string, zone: Record<string, Script>) => {
  await using dns = await fakeDns(zone);
  return await createResolver({ servers: [dns.address], timeoutMs: 100, tries: 1 }).caa(name, never);
};

test('records come with flags, tag and value as they stand in the zone', async () => {
  const caa = [
    issue('ca.example; accounturi=https://ca.example/a/1; validationmethods=dns-01'),
    issue('other.example'),
    { flags: 0, tag: 'IssueWild', value: ';' },
    { flags: 128, tag: 'unknowntag', value: 'x' },
    { flags: 1, tag: 'iodef', value: 'mailto:a@corp.example' },
    { flags: 255, tag: 'tbs', value: 'x' },
  ];
  const answer = await lookUp('corp.example', { 'corp.example': { caa } });
  expect(answer).toMatchObject({ outcome: 'found', name: 'corp.example' });
  expect(answer.outcome === 'found' && new Set(answer.records)).toEqual(new Set(caa));
});

test.each(['critical', 'type', '__proto__'])(
  'a record with the tag %s, which node:dns garbles, forbids',
  async (tag) => {
    expect(await lookUp('corp.example', { 'corp.example': { caa: [{ flags: 128, tag, value: 'x' }] } })).toEqual({
      outcome: 'found',
      name: 'corp.example',
      records: [{ flags: 128, tag: 'unreadable', value: '' }],
    });
  },
);

test.each([
  ['nxdomain', 'NXDOMAIN'],
  ['nodata', 'NODATA'],
] as const)('%s is told as %s: nothing there', async (script, answer) => {
  expect(await lookUp('corp.example', { 'corp.example': script })).toEqual({
    outcome: 'none',
    name: 'corp.example',
    answer,
  });
});

test('an alias is followed to the records at its end', async () => {
  const zone = { 'www.corp.example': { cname: 'web.example' }, 'web.example': { caa: [issue('ca.example')] } };
  expect(await lookUp('www.corp.example', zone)).toEqual({
    outcome: 'found',
    name: 'www.corp.example',
    records: [issue('ca.example')],
  });
});

test('an alias to a name without such records is nothing there', async () => {
  const zone: Record<string, Script> = { 'www.corp.example': { cname: 'web.example' }, 'web.example': 'nodata' };
  expect(await lookUp('www.corp.example', zone)).toEqual({
    outcome: 'none',
    name: 'www.corp.example',
    answer: 'NODATA',
  });
});

test.each([
  ['servfail', 'SERVFAIL'],
  ['refused', 'REFUSED'],
  ['formerr', 'FORMERR'],
  ['notimp', 'NOTIMP'],
  ['malformed', 'a malformed answer'],
  ['silent', 'no answer in time'],
] as const)('CAA-10, SEC-41: %s is a failure that gives the name and the answer', async (script, answer) => {
  expect(await lookUp('corp.example', { 'corp.example': script })).toEqual({
    outcome: 'failed',
    name: 'corp.example',
    answer,
  });
});

test('CAA-10: an alias whose target fails is a failure', async () => {
  const zone: Record<string, Script> = { 'www.corp.example': { cname: 'web.example' }, 'web.example': 'servfail' };
  expect(await lookUp('www.corp.example', zone)).toMatchObject({ outcome: 'failed', answer: 'SERVFAIL' });
});

test('CAA-10: a value that node:dns cannot read is a failure, not an absent record', async () => {
  expect(await lookUp('corp.example', { 'corp.example': { caa: [issue('')] } })).toMatchObject({ outcome: 'failed' });
});

test('CAA-10: a resolver that is not there is a failure', async () => {
  const unused = createServer().listen(0, '127.0.0.1');
  await once(unused, 'listening');
  const address = unused.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  unused.close();
  await once(unused, 'close');
  const resolver = createResolver({ servers: [`127.0.0.1:${port}`], timeoutMs: 100, tries: 1 });
  expect(await resolver.caa('corp.example', never)).toMatchObject({
    outcome: 'failed',
    answer: 'no answer, connection refused',
  });
});

test('a truncated answer is asked for again over TCP', async () => {
  const caa = Array.from({ length: 40 }, (_, index) => issue(`ca-${index}.example; accounturi=https://ca.example/a`));
  await using dns = await fakeDns({ 'corp.example': { caa, truncated: true } });
  const answer = await createResolver({ servers: [dns.address] }).caa('corp.example', never);
  expect(answer.outcome === 'found' && answer.records).toHaveLength(40);
  expect(dns.queries.map(({ transport }) => transport)).toEqual(['udp', 'tcp']);
});

test('nothing is cached: each look-up asks', async () => {
  await using dns = await fakeDns({ 'corp.example': { caa: [issue('ca.example')] }, 'none.example': 'nxdomain' });
  const resolver = createResolver({ servers: [dns.address] });
  for (const name of ['corp.example', 'corp.example', 'none.example', 'none.example']) await resolver.caa(name, never);
  expect(dns.queries).toHaveLength(4);
});

test('a CAA question that several ask at the same time is asked once, and all hear the answer', async () => {
  const caa = [issue('ca.example')];
  await using dns = await fakeDns({ 'corp.example': { caa }, 'other.example': 'nodata' });
  const resolver = createResolver({ servers: [dns.address] });
  const names = ['corp.example', 'other.example', 'corp.example', 'corp.example'];
  const answers = await Promise.all(names.map((name) => resolver.caa(name, never)));
  const found = { outcome: 'found', name: 'corp.example', records: caa };
  expect(answers).toEqual([found, { outcome: 'none', name: 'other.example', answer: 'NODATA' }, found, found]);
  expect(dns.queries.map(({ name }) => name).sort()).toEqual(['corp.example', 'other.example']);
});

test.each(['a', 'aaaa', 'txt', 'cname'] as const)(
  'what is proved by %s is asked for each proof, at the same time too',
  async (kind) => {
    await using dns = await fakeDns({ 'corp.example': 'nodata' });
    const resolver = createResolver({ servers: [dns.address] });
    await Promise.all([resolver[kind]('corp.example', never), resolver[kind]('corp.example', never)]);
    expect(dns.queries).toHaveLength(2);
  },
);

test('CAA-10: a failure is told to all who wait for it, and who asks then asks anew', async () => {
  const scripts: Script[] = ['nodata', 'servfail'];
  await using dns = await fakeDns({ 'corp.example': () => (scripts.pop() === 'servfail' ? 'servfail' : 'nodata') });
  const resolver = createResolver({ servers: [dns.address], tries: 1 });
  const failed = { outcome: 'failed', name: 'corp.example', answer: 'SERVFAIL' };
  // Asked again in the very turn in which the failure is heard of.
  const askTwice = async () => [await resolver.caa('corp.example', never), await resolver.caa('corp.example', never)];
  const heard = await Promise.all([askTwice(), askTwice()]);
  expect(heard.map(([first]) => first)).toEqual([failed, failed]);
  expect(heard.map(([, second]) => second?.outcome)).toEqual(['none', 'none']);
  expect(dns.queries).toHaveLength(2);
});

// The answers are held back until another name is asked for.
test('who gives up a question leaves it to the others who wait for it', { timeout: 4_000 }, async () => {
  await using dns = await fakeDns({ '*': 'nodata' }, { holdUntil: 2 });
  const resolver = createResolver({ servers: [dns.address], timeoutMs: 60_000, tries: 1 });
  const stop = new AbortController();
  const reason = new Error('the order was cancelled');
  const first = resolver.caa('a.example', stop.signal);
  const second = resolver.caa('a.example', never);
  stop.abort(reason);
  await expect(first).rejects.toBe(reason);
  const other = resolver.caa('b.example', never);
  expect(await Promise.all([second, other])).toMatchObject([{ outcome: 'none' }, { outcome: 'none' }]);
  expect(dns.queries.map(({ name }) => name).sort()).toEqual(['a.example', 'b.example']);
});

test('who asks after all others gave up asks anew', { timeout: 4_000 }, async () => {
  await using dns = await fakeDns({ 'corp.example': 'nodata' });
  const resolver = createResolver({ servers: [dns.address], timeoutMs: 60_000, tries: 1 });
  const stop = new AbortController();
  const reason = new Error('the order was cancelled');
  const givenUp = resolver.caa('corp.example', stop.signal);
  stop.abort(reason);
  const anew = resolver.caa('corp.example', never);
  await expect(givenUp).rejects.toBe(reason);
  expect(await anew).toMatchObject({ outcome: 'none' });
});

test('a resolver that is silent is passed over: the next in the list answers', async () => {
  await using silent = await fakeDns({ 'corp.example': 'silent' });
  await using dns = await fakeDns({ 'corp.example': 'nodata' });
  const resolver = createResolver({ servers: [silent.address, dns.address], timeoutMs: 100, tries: 2 });
  expect(await resolver.caa('corp.example', never)).toMatchObject({ outcome: 'none' });
  expect(silent.queries).not.toEqual([]);
});

// c-ares gives up by itself after 6 s.
test('an abort ends the look-up with its reason and leaves others alone', { timeout: 4_000 }, async () => {
  await using dns = await fakeDns({ 'a.example': 'silent', 'b.example': 'nodata' });
  const resolver = createResolver({ servers: [dns.address], timeoutMs: 60_000, tries: 1 });
  const stop = new AbortController();
  const reason = new Error('the order was cancelled');
  const aborted = resolver.caa('a.example', stop.signal);
  const other = resolver.caa('b.example', never);
  stop.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  expect(await other).toMatchObject({ outcome: 'none' });
  const asked = dns.queries.length;
  await expect(resolver.caa('b.example', stop.signal)).rejects.toBe(reason);
  expect(dns.queries).toHaveLength(asked);
});

test.each(['localhost:53', 'dns.example', '1.2.3', ''])('%j is refused as a resolver at once', (server) => {
  expect(() => createResolver({ servers: [server] })).toThrow('Invalid IP address');
});
