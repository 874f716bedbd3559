import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { beforeEach, expect, test } from 'vitest';
import { connectTo } from '../../src/prober/connect.ts';
import type { Network } from '../../src/prober/network.ts';
import { ProbeProblem } from '../../src/prober/probe-problem.ts';
import type { DnsResolver } from '../../src/prober/resolver.ts';
import { createShares } from '../../src/prober/shares.ts';

const late = new ProbeProblem('connection', 'The probe has taken too long.');

const none = async (name: string) => ({ outcome: 'none', name, answer: 'NODATA' }) as const;
const found = (record: string) => async (name: string) => ({ outcome: 'found', name, records: [record] }) as const;
const resolver: DnsResolver = { caa: none, txt: none, cname: none, aaaa: found('::1'), a: found('127.0.0.1') };

const aNetwork = (addressPolicy: Network['addressPolicy']): Network => ({
  ...{ resolver, addressPolicy, userAgent: 'test', httpPort: 80, tlsPort: 443, stepMs: 5_000 },
  addressShares: createShares(1),
});

let closedPort: number;
beforeEach(async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  closedPort = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');
});

test('a probe that has ended opens no connection, whose refusal nobody would hear', async () => {
  const network = aNetwork(() => undefined);
  const target = { host: '127.0.0.1', port: closedPort, shownAs: 'it' };
  await expect(connectTo(network, target, AbortSignal.abort(late))).rejects.toBe(late);
  expect(network.addressShares('127.0.0.1')).toBeDefined();
});

test('H01-6: a probe that ends at its first address does not try the second one', async () => {
  const controller = new AbortController();
  const judged: string[] = [];
  const network = aNetwork((address) => {
    judged.push(address);
    controller.abort(late);
    return undefined;
  });
  const target = { host: 'shop.corp.example', port: closedPort, shownAs: 'it' };
  await expect(connectTo(network, target, controller.signal)).rejects.toBe(late);
  expect(judged).toEqual(['::1']);
});
