import { describe, expect, test } from 'vitest';
import {
  cidr,
  dnsServer,
  duration,
  durationText,
  listenAddress,
  listOf,
  postgresUrl,
  publicUrl,
  rate,
  tlsName,
  urlOf,
  type ValueKind,
  wholeNumber,
} from '../../../src/config/value-kinds.ts';

type Row = readonly [
  kind: string,
  value: ValueKind<unknown>,
  accepted: readonly [string, unknown][],
  refused: readonly string[],
];

const rows: readonly Row[] = [
  [
    'whole number',
    wholeNumber(2, 200),
    [
      ['2', 2],
      ['200', 200],
    ],
    ['1', '201', '', ' 3', '3.0', '0x10', '-5', '1e2', '٣'],
  ],
  [
    'duration',
    duration(1_000, 86_400_000),
    [
      ['1s', 1_000],
      ['1000ms', 1_000],
      ['24h', 86_400_000],
      ['1d', 86_400_000],
    ],
    ['0s', '25h', '10', '1.5s', '-1s', '1 s', 's', '1w'],
  ],
  [
    'rate',
    rate,
    [
      ['500/s', { count: 500, perMs: 1_000 }],
      ['1/m', { count: 1, perMs: 60_000 }],
      ['1000000/h', { count: 1_000_000, perMs: 3_600_000 }],
      ['off', 'off'],
    ],
    ['0/s', '01/s', '1000001/h', '1.5/s', '-1/s', '5 / s', '5/d', '5/ms', '5', '/s', 'OFF', 'on', ''],
  ],
  [
    'listen address',
    listenAddress,
    [
      ['127.0.0.1:8443', { host: '127.0.0.1', port: 8443 }],
      ['[::1]:0', { host: '::1', port: 0 }],
      ['localhost:65535', { host: 'localhost', port: 65_535 }],
    ],
    ['8443', ':8443', 'localhost', '127.0.0.1:65536', '::1:80', '[127.0.0.1]:80', '[::1]', 'a b:80', 'host:http'],
  ],
  [
    'https URL',
    urlOf('https'),
    [
      ['https://ca.corp.example', 'https://ca.corp.example'],
      ['https://ca.corp.example:8443/', 'https://ca.corp.example:8443'],
      ['https://h/base/', 'https://h/base'],
    ],
    ['http://ca.corp.example', 'ca.corp.example', 'https://u:p@h', 'https://h/?a', 'https://h/#a', 'https://', ''],
  ],
  [
    'public URL',
    publicUrl,
    [
      ['https://ca.corp.example/', 'https://ca.corp.example'],
      ['https://{slug}.corp.example:8443/pki', 'https://{slug}.corp.example:8443/pki'],
      ['https://{SLUG}.localhost', 'https://{slug}.localhost'],
    ],
    [
      'http://ca.corp.example',
      'https://{slug}',
      'https://{slug}:8443',
      'https://{slug}./',
      'https://a{slug}.corp.example',
      'https://{slug}a.corp.example',
      'https://ca.{slug}.example',
      'https://{slug}.{slug}.example',
      'https://{name}.corp.example',
      'https://corp.example/{slug}',
      'https://{slug}.10.0.0.1',
    ],
  ],
  [
    'DNS server',
    dnsServer,
    [
      ['10.0.0.10', '10.0.0.10:53'],
      ['10.0.0.10:5353', '10.0.0.10:5353'],
      ['fd00::10', '[fd00::10]:53'],
      ['[fd00::10]', '[fd00::10]:53'],
      ['[fd00::10]:5353', '[fd00::10]:5353'],
    ],
    [
      'dns.corp.example:53',
      '10.0.0.10:0',
      '10.0.0.10:65536',
      '10.0.0.10:',
      '[10.0.0.10]:53',
      'fe80::1%eth0',
      '[fe80::1%e]:53',
      '[]',
      '',
    ],
  ],
  [
    'Postgres URL',
    postgresUrl,
    [
      ['postgres://u:p@h/d', 'postgres://u:p@h/d'],
      ['postgresql://h', 'postgresql://h'],
    ],
    ['mysql://h/d', 'h:5432', ''],
  ],
  [
    'network',
    cidr,
    [
      ['10.0.0.0/8', '10.0.0.0/8'],
      ['10.1.2.3', '10.1.2.3'],
      ['fd00::/8', 'fd00::/8'],
      ['::1', '::1'],
    ],
    ['10.0.0.0/33', '10.0.0/8', '010.0.0.1', '10.0.0.0/8/8', '10.0.0.0/', 'fe80::1%eth0', 'host', '::/129', '/8', ''],
  ],
  [
    'TLS name',
    tlsName,
    [
      ['CA.corp.example', 'ca.corp.example'],
      ['*.corp.example', '*.corp.example'],
      ['10.0.0.1', '10.0.0.1'],
      ['localhost', 'localhost'],
    ],
    ['a..b', '-a.b', 'a_b', '*', '*.*.b', 'a b', `${'a'.repeat(64)}.b`],
  ],
  [
    'list',
    listOf(wholeNumber(1, 9)),
    [
      ['', []],
      ['1', [1]],
      [' 1, 2,', [1, 2]],
    ],
    ['1,x', '1;2', '10'],
  ],
];

describe.each(rows)('%s', (_name, kind, accepted, refused) => {
  test.each(accepted)('%j is read', (text, value) => {
    expect(kind.parse(text)).toEqual(value);
  });

  test.each(refused)('%j is refused', (text) => {
    expect(kind.parse(text)).toBeUndefined();
  });
});

test('a duration is written in its largest whole unit', () => {
  expect([250, 1_000, 90_000, 7_200_000, 86_400_000].map(durationText)).toEqual(['250ms', '1s', '90s', '2h', '1d']);
});
