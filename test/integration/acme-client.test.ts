// A real ACME client, from the first account to the last revocation, against the program as a user runs it.
import { expect, test } from 'vitest';
import { acmeClient } from '../e2e/clients/acme-client.ts';
import { journey, type Outcome } from '../e2e/journey.ts';
import { acmery } from '../e2e/servers/acmery.ts';

test('acme-client registers, issues in every way it knows, renews, changes its key and revokes', async () => {
  const outcomes: Outcome[] = [];

  await journey(acmeClient, await acmeClient.fetch(), acmery, (outcome) => outcomes.push(outcome));

  expect(outcomes.filter(({ result }) => result !== 'ok')).toEqual([]);
  expect(outcomes.map(({ scenario }) => scenario)).toEqual([
    'registers with EAB',
    'issues by http-01',
    'renews',
    'issues for an RSA key',
    'issues for two names',
    'issues for 10 days',
    'issues for an IP address',
    'issues by dns-01',
    'issues a wildcard by dns-01',
    'issues by tls-alpn-01',
    'changes its account key',
    'revokes as the account',
    'auto_approve: registers with EAB',
    'auto_approve: issues with no responder',
    'auto_approve: renews',
    'auto_approve: issues for an RSA key',
    'auto_approve: issues a wildcard',
    'auto_approve: issues for a name, a wildcard and an address in one order',
  ]);
}, 120_000);
