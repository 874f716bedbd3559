import { expect, test } from 'vitest';
import { canonicalDirectory, directoryPolicy } from '../../../src/core/directory-policy.ts';

const CURRENT = { certMinDays: 2, certMaxDays: 97 };

test('lists become canonical, each item once, and what is not named stays away', () => {
  expect(
    canonicalDirectory(
      {
        allowed_dns_identifiers: ['**.Corp.example.', '**.corp.example', '*'],
        remote_ip_whitelist: ['FD00::/8', '10.0.0.1/32', '10.0.0.1'],
        caa_tag: 'CA.corp',
      },
      CURRENT,
    ),
  ).toEqual({
    ok: true,
    value: {
      allowed_dns_identifiers: ['**.corp.example', '*'],
      remote_ip_whitelist: ['fd00::/8', '10.0.0.1'],
      caa_tag: 'ca.corp',
    },
  });
  expect(canonicalDirectory({}, CURRENT)).toEqual({ ok: true, value: {} });
  expect(canonicalDirectory({ name: 'Web', allowed_dns_identifiers: [] }, CURRENT)).toMatchObject({
    value: { name: 'Web', allowed_dns_identifiers: [] },
  });
});

test('all problems come at once, at the item', () => {
  const result = canonicalDirectory(
    {
      allowed_dns_identifiers: ['a', '10.0.0.1', 'xn--ls8h'],
      allowed_ip_identifiers: ['10.0.0.1/8'],
      remote_ip_whitelist: ['10.0.0.0/8', '::ffff:10.0.0.0/104'],
      caa_tag: '1.2.3.4',
      cert_min_days: 98,
    },
    CURRENT,
  );
  expect(result.ok ? [] : result.problems.map(({ field, code }) => `${field} ${code}`)).toEqual([
    'allowed_dns_identifiers[1] bad_format',
    'allowed_dns_identifiers[2] bad_format',
    'allowed_ip_identifiers[0] bad_format',
    'remote_ip_whitelist[1] bad_format',
    'caa_tag bad_format',
    'cert_min_days out_of_range',
  ]);
});

test.each([
  [{ cert_min_days: 98 }, 'cert_min_days: cert_min_days (98) must not be above cert_max_days (97)'],
  [{ cert_max_days: 1 }, 'cert_max_days: cert_min_days (2) must not be above cert_max_days (1)'],
  [{ cert_min_days: 5, cert_max_days: 4 }, 'cert_min_days: cert_min_days (5) must not be above cert_max_days (4)'],
])('%j is refused at the limit that moved', (input, problem) => {
  const result = canonicalDirectory(input, CURRENT);
  expect(result.ok ? '' : result.problems.map(({ field, message }) => `${field}: ${message}`).join()).toBe(problem);
});

test('equal limits and 0 to 0 are fine', () => {
  for (const days of [0, 97, 3650])
    expect(canonicalDirectory({ cert_min_days: days, cert_max_days: days }, CURRENT).ok).toBe(true);
});

test('what is stored compiles to the policy that the checks use; what was never accepted is a bug', () => {
  const stored = {
    ...CURRENT,
    name: 'web',
    deleted: false,
    allowedDns: ['**'],
    allowedIp: ['::/0'],
    remoteIps: [],
    profiles: ['server'],
    allowedKeyTypes: ['ec_256'],
  } as const;
  const policy = directoryPolicy(stored);
  expect(policy.allowedDns.find({ value: 'a.b' })?.text).toBe('**');
  expect(policy).toMatchObject({ name: 'web', certMaxDays: 97, allowedIp: [{ text: '::/0' }], remoteIps: [] });
  expect(() => directoryPolicy({ ...stored, allowedDns: ['a..b'] })).toThrow('cannot be read');
});
