// What every client is put through, in order, as rows; a row that a client or server has no means for is left out.
import { checkIssued, serialOf } from './certificates.ts';
import type { Client, Issued, RevokedBy, Session, Wanted } from './client.ts';
import type { AcmeServer } from './server.ts';

type Journey = {
  readonly session: Session;
  readonly server: AcmeServer;
  /** What the account was given so far, by first name. */
  readonly held: Map<string, { readonly wanted: Wanted; readonly issued: Issued }>;
};

export type Scenario = {
  readonly name: string;
  /** Whose orders need challenges, or not. */
  readonly account: 'challenge' | 'auto_approve' | 'recipe';
  readonly isRegistration?: true;
  readonly isFor: (client: Client, session: Session) => boolean;
  readonly play: (journey: Journey) => Promise<void>;
};

const ofEc = { keyType: 'ec_256', challenge: 'http-01' } as const;
const plain: Wanted = { ...ofEc, names: ['plain.corp.example'] };
const rsa: Wanted = { ...ofEc, names: ['rsa.corp.example'], keyType: 'rsa_2048' };
const several: Wanted = { ...ofEc, names: ['several.corp.example', 'www.several.corp.example'] };
const shortLived: Wanted = { ...ofEc, names: ['short.corp.example'], days: 10 };
const address: Wanted = { ...ofEc, names: ['127.0.0.1'] };
const byDns: Wanted = { ...ofEc, names: ['dns.corp.example'], challenge: 'dns-01' };
const wildcard: Wanted = { ...ofEc, names: ['*.wild.corp.example'], challenge: 'dns-01' };
const byTls: Wanted = { ...ofEc, names: ['alpn.corp.example'], challenge: 'tls-alpn-01' };
const afterChange: Wanted = { ...ofEc, names: ['after.corp.example'] };
const approved: Wanted = { ...ofEc, names: ['approved.corp.example'], challenge: 'none' };
const approvedRsa: Wanted = { ...approved, names: ['approved-rsa.corp.example'], keyType: 'rsa_2048' };
const approvedWildcard: Wanted = { ...approved, names: ['*.approved-wild.corp.example'] };
const approvedMix: Wanted = { ...approved, names: ['mix.corp.example', '*.mix.corp.example', '127.0.0.1'] };

/** What the recipes ask for; the keys are the clients' defaults. */
const ofRecipe = { names: ['shop.corp.example'] };

const always = (): boolean => true;
const byChallenge = { account: 'challenge' } as const;
const byPolicy = { account: 'auto_approve' } as const;
const can =
  (type: Client['challenges'][number], also: (client: Client) => boolean = always) =>
  (client: Client): boolean =>
    client.challenges.includes(type) && also(client);

export const scenarios: readonly Scenario[] = [
  { ...byChallenge, name: 'registers with EAB', isRegistration: true, isFor: mayRegister, play: register },
  {
    ...byChallenge,
    name: 'registers by its key',
    isRegistration: true,
    isFor: mayRegisterKey,
    play: registerKey,
  },
  { ...byChallenge, name: 'issues by http-01', isFor: can('http-01'), play: issue(plain) },
  {
    ...byChallenge,
    name: 'renews',
    isFor: (client, { renew }) => can('http-01')(client) && renew !== undefined,
    play: renew(plain),
  },
  {
    ...byChallenge,
    name: 'issues for an RSA key',
    isFor: can('http-01', ({ hasRsaKeys }) => hasRsaKeys),
    play: issue(rsa),
  },
  {
    ...byChallenge,
    name: 'issues for two names',
    isFor: can('http-01', ({ hasSeveralNames }) => hasSeveralNames),
    play: issue(several),
  },
  {
    ...byChallenge,
    name: 'issues for 10 days',
    isFor: can('http-01', ({ asksForDays }) => asksForDays),
    play: issue(shortLived),
  },
  {
    ...byChallenge,
    name: 'issues for an IP address',
    isFor: can('http-01', ({ hasIpAddresses }) => hasIpAddresses),
    play: issue(address),
  },
  { ...byChallenge, name: 'issues by dns-01', isFor: can('dns-01'), play: issue(byDns) },
  {
    ...byChallenge,
    name: 'issues a wildcard by dns-01',
    isFor: can('dns-01', ({ hasWildcards }) => hasWildcards),
    play: issue(wildcard),
  },
  { ...byChallenge, name: 'issues by tls-alpn-01', isFor: can('tls-alpn-01'), play: issue(byTls) },
  {
    ...byChallenge,
    name: 'changes its account key',
    isFor: (_, { changeKey }) => changeKey !== undefined,
    play: changeKey,
  },
  { ...byChallenge, name: 'revokes as the account', isFor: mayRevoke('account'), play: revoke('account', plain) },
  {
    ...byChallenge,
    name: 'revokes with the certificate key',
    isFor: mayRevoke('certificate_key'),
    play: revoke('certificate_key', several),
  },
  { ...byPolicy, name: 'auto_approve: registers with EAB', isRegistration: true, isFor: mayRegister, play: register },
  {
    ...byPolicy,
    name: 'auto_approve: registers by its key',
    isRegistration: true,
    isFor: mayRegisterKey,
    play: registerKey,
  },
  { ...byPolicy, name: 'auto_approve: issues with no responder', isFor: always, play: issue(approved) },
  {
    ...byPolicy,
    name: 'auto_approve: renews',
    isFor: (_, session) => session.renew !== undefined,
    play: renew(approved),
  },
  {
    ...byPolicy,
    name: 'auto_approve: issues for an RSA key',
    isFor: ({ hasRsaKeys }) => hasRsaKeys,
    play: issue(approvedRsa),
  },
  {
    ...byPolicy,
    name: 'auto_approve: issues a wildcard',
    isFor: ({ hasWildcards }) => hasWildcards,
    play: issue(approvedWildcard),
  },
  {
    ...byPolicy,
    name: 'auto_approve: issues for a name, a wildcard and an address in one order',
    isFor: ({ hasSeveralNames, hasWildcards, hasIpAddresses }) => hasSeveralNames && hasWildcards && hasIpAddresses,
    play: issue(approvedMix),
  },
  {
    account: 'recipe',
    name: 'follows its recipe in docs/acme.md',
    isFor: (_, session) => session.followRecipe !== undefined,
    play: followRecipe,
  },
];

async function register({ session }: Journey): Promise<void> {
  await session.register?.();
}

async function registerKey({ session }: Journey): Promise<void> {
  await session.registerKey?.();
}

function issue(wanted: Wanted): Scenario['play'] {
  return async ({ session, server, held }) => {
    const issued = await session.issue(wanted);
    await checkIssued(server, wanted, issued);
    held.set(keyOf(wanted), { wanted, issued });
  };
}

function renew(wanted: Wanted): Scenario['play'] {
  return async ({ session, server, held }) => {
    const before = await serialOf(heldOf(held, wanted).chainFile);
    const issued = await session.renew?.(wanted);
    if (issued === undefined) throw new Error('the client has no renewal');
    await checkIssued(server, wanted, issued);
    if ((await serialOf(issued.chainFile)) === before) throw new Error('the certificate is still the one from before');
    held.set(keyOf(wanted), { wanted, issued });
  };
}

/** The account goes on under its new key. */
async function changeKey(journey: Journey): Promise<void> {
  await journey.session.changeKey?.();
  await issue(afterChange)(journey);
}

function revoke(by: RevokedBy, wanted: Wanted): Scenario['play'] {
  return async ({ session, server, held }) => {
    const issued = heldOf(held, wanted);
    const serial = await serialOf(issued.chainFile);
    await session.revoke?.[by]?.(wanted, issued);
    if (!(await server.isRevoked(serial))) throw new Error(`the server does not show ${serial} as revoked`);
  };
}

async function followRecipe({ session, server }: Journey): Promise<void> {
  const issued = await session.followRecipe?.();
  if (issued !== undefined) await checkIssued(server, ofRecipe, issued);
}

function mayRegister(_: Client, session: Session): boolean {
  return session.register !== undefined;
}

function mayRegisterKey(_: Client, session: Session): boolean {
  return session.registerKey !== undefined;
}

function mayRevoke(by: RevokedBy): Scenario['isFor'] {
  return (_, { revoke: verbs }) => verbs?.[by] !== undefined;
}

function heldOf(held: Journey['held'], wanted: Wanted): Issued {
  const found = held.get(keyOf(wanted));
  if (found === undefined) throw new Error(`there is no certificate for ${keyOf(wanted)}: its issue failed`);
  return found.issued;
}

const keyOf = ({ names }: Wanted): string => names.join(' ');
