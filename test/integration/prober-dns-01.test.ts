import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Probe, ProbeOutcome } from '../../src/core/ports.ts';
import { type Applicant, accountLabel, anApplicant, txtOf } from '../support/applicant.ts';
import type { Script } from '../support/fake-dns.ts';

const never = new AbortController().signal;
const keyAuthorization = 'token.thumbprint';
const digest = txtOf(keyAuthorization);
const name = '_acme-challenge.shop.corp.example';
const accountUrl = 'https://example.com/acme/acct/ExampleAccount';
const probe: Probe = {
  type: 'dns-01',
  identifier: { type: 'dns', value: 'shop.corp.example' },
  token: 'token',
  keyAuthorization,
  accountUrl,
  directoryId: 'directory',
};
const valid: ProbeOutcome = { outcome: 'valid' };
const failed = (type: string, detail: string) => ({ outcome: 'failed', type, detail });
const dnsError = (answer: string) => failed('dns', `Expected TXT ${digest} at ${name}; the answer was ${answer}.`);

let applicant: Applicant;
beforeEach(async () => {
  applicant = await anApplicant({ zone: { '*': 'nxdomain' } });
});
afterEach(() => applicant[Symbol.asyncDispose]());

const probeWith = (script: Script, more: Partial<Probe> = {}): Promise<ProbeOutcome> => {
  applicant.zone[name] = script;
  return applicant.prober()({ ...probe, ...more }, never);
};

describe('D01-1: the record', () => {
  test('holds the digest', async () => {
    expect(await probeWith({ txt: [digest] })).toEqual(valid);
    expect(applicant.dns.queries).toEqual([{ name, type: 'TXT', transport: 'udp' }]);
  });

  test('may be one of several', async () => {
    expect(await probeWith({ txt: ['v=spf1 -all', txtOf('other'), digest, 'x'] })).toEqual(valid);
  });

  test.each([
    ['another digest', [txtOf('other')], 'there is 1 other record'],
    ['the key authorization itself', [keyAuthorization], 'there is 1 other record'],
    ['a digest with padding', [`${digest}=`], 'there is 1 other record'],
    ['a digest in quotes', [`"${digest}"`], 'there is 1 other record'],
    ['a digest with a blank', [` ${digest}`, `${digest} `], 'there are 2 other records'],
    ['a digest in lower case', [digest.toLowerCase()], 'there is 1 other record'],
    ['a part of it', [digest.slice(1)], 'there is 1 other record'],
  ])('with %s is refused, and what it holds is not repeated', async (_what, txt, found) => {
    expect(await probeWith({ txt })).toEqual(
      failed('incorrectResponse', `Expected TXT ${digest} at ${name}; ${found}.`),
    );
  });
});

describe('D01-2: aliases and strings', () => {
  test('the strings of a record are one text', async () => {
    expect(await probeWith({ txt: [[digest.slice(0, 20), digest.slice(20)]] })).toEqual(valid);
  });

  test('the strings of several records are not', async () => {
    expect(await probeWith({ txt: [digest.slice(0, 20), digest.slice(20)] })).toMatchObject({ outcome: 'failed' });
  });

  const chain = (length: number, link: { readonly aliasOnly?: boolean }): Script => {
    for (let index = 1; index < length; index += 1)
      applicant.zone[`a${index}.example`] = { ...link, cname: `a${index + 1}.example` };
    applicant.zone[`a${length}.example`] = { txt: [digest] };
    return { ...link, cname: 'a1.example' };
  };

  test('a chain that the resolver has followed', async () => {
    expect(await probeWith(chain(8, {}))).toEqual(valid);
    expect(applicant.dns.queries).toHaveLength(1);
  });

  test('a chain that the resolver does not follow is followed, over eight aliases', async () => {
    expect(await probeWith(chain(8, { aliasOnly: true }))).toEqual(valid);
  });

  test('nine aliases are too many', async () => {
    expect(await probeWith(chain(9, { aliasOnly: true }))).toEqual(dnsError('a chain of more than 8 aliases'));
  });

  test.each([true, false])('a loop ends (the resolver gives only the alias: %s)', async (aliasOnly) => {
    applicant.zone['b.example'] = { cname: 'c.example', aliasOnly };
    applicant.zone['c.example'] = { cname: 'B.example', aliasOnly };
    expect(await probeWith({ cname: 'b.example', aliasOnly })).toEqual(dnsError('a chain of aliases that is a loop'));
  });

  test('an alias of itself ends', async () => {
    expect(await probeWith({ cname: name, aliasOnly: true })).toEqual(dnsError('a chain of aliases that is a loop'));
  });

  test('an alias of a name without the record', async () => {
    applicant.zone['b.example'] = 'nodata';
    expect(await probeWith({ cname: 'b.example', aliasOnly: true })).toEqual(dnsError('NODATA'));
    expect(await probeWith({ cname: 'c.example', aliasOnly: true })).toEqual(dnsError('NXDOMAIN'));
  });
});

describe('D01-3: large answers', () => {
  test('come over TCP', async () => {
    const others = Array.from({ length: 150 }, (_, index) => txtOf(`other ${index}`));
    expect(await probeWith({ txt: [...others, digest], truncated: true })).toEqual(valid);
    expect(applicant.dns.queries.map(({ transport }) => transport)).toEqual(['udp', 'tcp']);
  });

  test('are compared up to a bound', async () => {
    const txt = Array.from({ length: 300 }, (_, index) => `other ${index}`);
    expect(await probeWith({ txt, truncated: true })).toEqual(
      failed(
        'incorrectResponse',
        `Expected TXT ${digest} at ${name}; there are 300 other records, of which 200 were compared.`,
      ),
    );
  });
});

describe('D01-5, D01-6: no answer', () => {
  test.each([
    ['nxdomain', 'NXDOMAIN'],
    ['nodata', 'NODATA'],
    // What a resolver that validates says to a bogus answer.
    ['servfail', 'SERVFAIL'],
    ['refused', 'REFUSED'],
    ['formerr', 'FORMERR'],
    ['malformed', 'a malformed answer'],
    ['silent', 'no answer in time'],
  ] as const)('%s is a dns error that names the query', async (script, answer) => {
    await using hasty = await anApplicant({ zone: { [name]: script }, dnsTimeoutMs: script === 'silent' ? 50 : 5_000 });
    expect(await hasty.prober()(probe, never)).toEqual(dnsError(answer));
  });

  test('D01-4: what was not there is asked for again the next time', async () => {
    const prober = applicant.prober();
    applicant.zone[name] = 'nxdomain';
    expect(await prober(probe, never)).toMatchObject({ outcome: 'failed' });
    applicant.zone[name] = { txt: [txtOf('other')] };
    expect(await prober(probe, never)).toMatchObject({ outcome: 'failed' });
    applicant.zone[name] = { txt: [digest] };
    expect(await prober(probe, never)).toEqual(valid);
  });

  test('an abort ends it with its reason', async () => {
    const stop = new AbortController();
    const reason = new Error('the worker ends');
    applicant.zone[name] = () => {
      stop.abort(reason);
      return 'silent';
    };
    await expect(applicant.prober()(probe, stop.signal)).rejects.toBe(reason);
  });
});

describe('DAC-1: dns-account-01', () => {
  test('looks at the name of the account, and not at the one of dns-01', async () => {
    const type = 'dns-account-01';
    expect(await probeWith({ txt: [digest] }, { type })).toMatchObject({ type: 'dns' });
    applicant.zone[`${accountLabel(accountUrl)}.${name}`] = { txt: [digest] };
    expect(await probeWith('nxdomain', { type })).toEqual(valid);
    expect(await probeWith('nxdomain', { type, accountUrl: `${accountUrl}2` })).toMatchObject({ type: 'dns' });
  });

  test('the label is that of the example in the draft', async () => {
    await probeWith('nxdomain', { type: 'dns-account-01' });
    expect(applicant.dns.queries[0]?.name).toBe(`_ujmmovf2vn55tgye.${name}`);
  });
});
