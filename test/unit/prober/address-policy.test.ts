import { describe, expect, test } from 'vitest';
import { type AddressPolicyOptions, createAddressPolicy } from '../../../src/prober/address-policy.ts';

const policyWith = (options: Partial<AddressPolicyOptions> = {}) =>
  createAddressPolicy({ allow: [], deny: [], ownListeners: [], localAddresses: () => [], ...options });

describe('SEC-1: without lists of the operator', () => {
  test.each([
    ['127.0.0.1', 'a loopback address'],
    ['127.255.255.254', 'a loopback address'],
    ['::1', 'a loopback address'],
    ['0:0:0:0:0:0:0:1', 'a loopback address'],
    ['0.0.0.0', 'an unspecified address'],
    ['0.1.2.3', 'an unspecified address'],
    ['::', 'an unspecified address'],
    ['169.254.169.254', 'a cloud metadata address'],
    ['100.100.100.200', 'a cloud metadata address'],
    ['168.63.129.16', 'a cloud metadata address'],
    ['fd00:ec2::254', 'a cloud metadata address'],
    ['169.254.1.1', 'a link-local address'],
    ['fe80::1', 'a link-local address'],
    ['fe80::1%eth0', 'a link-local address'],
    ['febf::1', 'a link-local address'],
    ['224.0.0.1', 'a multicast or broadcast address'],
    ['255.255.255.255', 'a multicast or broadcast address'],
    ['ff02::1', 'a multicast or broadcast address'],
    ['::ffff:127.0.0.1', 'a loopback address'],
    ['::FFFF:7F00:1', 'a loopback address'],
    ['::ffff:169.254.169.254', 'a cloud metadata address'],
    ['::ffff:0.0.0.0', 'an unspecified address'],
    ['64:ff9b::127.0.0.1', 'a loopback address'],
    ['64:ff9b::a9fe:a9fe', 'a cloud metadata address'],
    ['64:ff9b::e000:1', 'a multicast or broadcast address'],
    ['::127.0.0.1', 'a loopback address'],
    ['::ffff:0:127.0.0.1', 'a loopback address'],
    ['2002:7f00:1::1', 'an address of a tunnel (6to4, Teredo)'],
    ['2001::80ff:fffe', 'an address of a tunnel (6to4, Teredo)'],
  ])('%s is denied as %s', (address, what) => {
    expect(policyWith()(address, 80)).toBe(`${address} is ${what}, which this CA does not contact.`);
  });

  test.each(['10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', 'fd12:3456::1', '203.0.113.7', '2001:db8::1'])(
    '%s may be contacted',
    (address) => {
      expect(policyWith()(address, 80)).toBeUndefined();
    },
  );

  test.each(['::ffff:10.1.2.3', '64:ff9b::10.1.2.3', '64:ff9b::126.0.0.1', '64:ff9b::128.0.0.1'])(
    '%s, an allowed address in another form, may be contacted',
    (form) => {
      expect(policyWith()(form, 80)).toBeUndefined();
    },
  );

  test.each(['localhost', '127.1', '0x7f000001', '2130706433', '010.0.0.1', '', '[::1]', '1.2.3.4/8'])(
    '%j is no address and is denied',
    (text) => {
      expect(policyWith()(text, 80)).toBe(`${text} is not an IP address.`);
    },
  );
});

describe('SEC-1: with lists of the operator', () => {
  test('an address in ALLOW is contacted though the built-in list denies it', () => {
    const policy = policyWith({ allow: ['127.0.0.0/8', '::1'] });
    expect(policy('127.0.0.1', 80)).toBeUndefined();
    expect(policy('::1', 80)).toBeUndefined();
    expect(policy('169.254.169.254', 80)).toContain('a cloud metadata address');
  });

  test('ALLOW of IPv4 networks does not open the IPv6 forms that only translators read', () => {
    const policy = policyWith({ allow: ['0.0.0.0/0'] });
    expect(policy('64:ff9b::7f00:1', 80)).toContain('a loopback address');
    expect(policy('::1', 80)).toContain('a loopback address');
  });

  test('DENY wins over ALLOW, in every form of the address', () => {
    const policy = policyWith({ allow: ['10.0.0.0/8', '64:ff9b::/96'], deny: ['10.9.0.0/16', 'fd00:bad::/32'] });
    for (const address of ['10.9.1.1', '::ffff:10.9.1.1', '64:ff9b::10.9.1.1', 'fd00:bad::1'])
      expect(policy(address, 80)).toBe(`${address} is denied by this CA's configuration.`);
    expect(policy('10.8.1.1', 80)).toBeUndefined();
  });

  test('DENY of everything denies public addresses of both families', () => {
    const policy = policyWith({ deny: ['0.0.0.0/0', '::/0'] });
    expect(policy('203.0.113.7', 80)).toContain('denied');
    expect(policy('2001:db8::1', 80)).toContain('denied');
  });
});

describe('SEC-1: our own listeners', () => {
  test('are denied by address and port, whatever ALLOW says', () => {
    const policy = policyWith({ allow: ['0.0.0.0/0'], ownListeners: [{ address: '10.0.0.5', port: 443 }] });
    for (const address of ['10.0.0.5', '::ffff:10.0.0.5', '64:ff9b::10.0.0.5'])
      expect(policy(address, 443)).toBe(`${address} port 443 is the CA itself.`);
    expect(policy('10.0.0.5', 80)).toBeUndefined();
    expect(policy('10.0.0.6', 443)).toBeUndefined();
  });

  test.each(['0.0.0.0', '::'])('bound to %s stand for every address that the machine has at that time', (address) => {
    let local = ['10.0.0.5'];
    const policy = policyWith({
      allow: ['127.0.0.0/8'],
      ownListeners: [{ address, port: 443 }],
      localAddresses: () => local,
    });
    expect(policy('10.0.0.5', 443)).toContain('the CA itself');
    expect(policy('127.0.0.53', 443)).toContain('the CA itself');
    expect(policy('10.0.0.6', 443)).toBeUndefined();
    local = ['10.0.0.6', 'fd00::6'];
    expect(policy('10.0.0.6', 443)).toContain('the CA itself');
    expect(policy('fd00::6', 443)).toContain('the CA itself');
  });
});
