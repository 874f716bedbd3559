import { expect, test } from 'vitest';
import { type CaaPolicy, type CaaQuestion, checkCaa } from '../../../src/core/caa.ts';
import { offeredChallenges } from '../../../src/core/challenge-offers.ts';
import { parseIdentifier } from '../../../src/core/identifiers.ts';
import type { CaaResolver } from '../../../src/core/ports.ts';

const policy: CaaPolicy = { caaTag: 'ca.example', onMissingCaa: 'pass', accountUrls: [] };
const never = new AbortController().signal;

function identifierOf(type: 'dns' | 'ip', value: string) {
  const parsed = parseIdentifier({ type, value });
  if (!parsed.ok) throw new Error(parsed.refusal.detail);
  return parsed.identifier;
}
function question(value: string): CaaQuestion {
  const identifier = identifierOf('dns', value);
  if (identifier.type !== 'dns') throw new Error('not a name');
  return { identifier, methods: ['dns-01'] };
}
/** Answers only when it is told to stop, with the reason. */
const silent: CaaResolver = (_name, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

test('findings stand in the order of the questions, whichever answer comes first, and few look-ups run at once', async () => {
  const values = Array.from({ length: 30 }, (_, index) => `n${index}.example`);
  const waiting: (() => void)[] = [];
  let most = 0;
  const caa: CaaResolver = async (name) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      most = Math.max(most, waiting.length);
      // Once nobody new comes, the last one that asked is answered first.
      setImmediate(() => waiting.pop()?.());
    });
    return [{ name, records: [{ flags: 0, tag: 'issue', value: name === 'n7.example' ? ';' : 'ca.example' }] }];
  };
  const findings = await checkCaa({ caa }, policy, values.map(question), never);
  expect(findings.map(({ identifier }) => identifier.value)).toEqual(values);
  expect(findings.filter(({ verdict }) => !verdict.allowed).map(({ identifier }) => identifier.value)).toEqual([
    'n7.example',
  ]);
  expect(most).toBe(8);
});

test('what is not answered before the deadline is a failure that forbids', async () => {
  const caa: CaaResolver = (name, signal) =>
    name === 'slow.example' ? silent(name, signal) : Promise.resolve([{ name, records: [] }]);
  const findings = await checkCaa({ caa }, policy, ['slow.example', 'example'].map(question), never, 5);
  expect(findings).toMatchObject([
    {
      answers: [{ name: 'slow.example', failure: 'no answer in time' }],
      verdict: { allowed: false, detail: 'CAA of slow.example could not be looked up: no answer in time.' },
      allowedMethods: [],
    },
    { verdict: { allowed: true } },
  ]);
});

test('a caller who leaves ends the look-ups', async () => {
  const leaving = new AbortController();
  const checking = checkCaa({ caa: silent }, policy, [question('slow.example')], leaving.signal);
  leaving.abort(new Error('gone'));
  await expect(checking).rejects.toThrow('gone');
});

test('a resolver that breaks is a bug, not an answer', async () => {
  const caa: CaaResolver = () => Promise.reject(new Error('broken'));
  await expect(checkCaa({ caa }, policy, [question('a.example')], never)).rejects.toThrow('broken');
});

test('no question, no look-up', async () => {
  expect(await checkCaa({ caa: silent }, policy, [], never)).toEqual([]);
});

test('a wildcard is looked up as the name below its star', async () => {
  const asked: string[] = [];
  const caa: CaaResolver = async (name) => {
    asked.push(name);
    return [{ name, records: [{ flags: 0, tag: 'issuewild', value: 'ca.example' }] }];
  };
  const [finding] = await checkCaa({ caa }, policy, [question('*.a.example')], never);
  expect(asked).toEqual(['a.example']);
  expect(finding?.verdict.allowed).toBe(true);
});

test.each([
  ['dns', 'a.example', ['http-01', 'dns-01', 'tls-alpn-01', 'dns-account-01']],
  ['dns', '*.a.example', ['dns-01', 'dns-account-01']],
  ['ip', '10.0.0.1', ['http-01', 'tls-alpn-01']],
] as const)('control of %s %s can be proved by %j', (type, value, challenges) => {
  expect(offeredChallenges(identifierOf(type, value))).toEqual(challenges);
});
