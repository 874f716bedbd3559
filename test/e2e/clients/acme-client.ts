// acme-client, from npm: a library; what a program that uses it would write stands here.
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import acme from 'acme-client';
import { type Applicant, serveWebRoot } from '../applicant.ts';
import { isIpAddress } from '../certificates.ts';
import type { ChallengeType, Client, Context, Issued, Session, Wanted } from '../client.ts';

const DAY_MS = 86_400_000;

export const acmeClient: Client = {
  name: 'acme-client',
  source: 'npm',
  challenges: ['http-01', 'dns-01', 'tls-alpn-01'],
  hasRsaKeys: true,
  hasSeveralNames: true,
  hasWildcards: true,
  hasIpAddresses: true,
  asksForDays: true,
  async fetch() {
    const { version } = createRequire(import.meta.url)('acme-client/package.json');
    return { version, open: openSession };
  },
};

async function openSession({ directoryUrl, caFile, eab, applicant, folder }: Context): Promise<Session> {
  acme.axios.defaults.httpsAgent = new Agent({ ca: readFileSync(caFile) });
  const client = new acme.Client({
    directoryUrl,
    accountKey: await acme.crypto.createPrivateEcdsaKey(),
    externalAccountBinding: { kid: eab.kid, hmacKey: eab.hmac },
    backoffMin: 100,
  });
  const issue = async (wanted: Wanted): Promise<Issued> => {
    const ownKey = wanted.keyType === 'ec_256' ? acme.crypto.createPrivateEcdsaKey() : acme.crypto.createPrivateKey();
    const [key, csr] = await acme.crypto.createCsr({ altNames: [...wanted.names] }, await ownKey);
    const orderable = wanted.days === undefined && !wanted.names.some(isIpAddress);
    const chain = orderable
      ? await byItself(client, applicant, folder, wanted, csr)
      : await byHand(client, applicant, folder, wanted, csr);
    const file = join(folder, (wanted.names[0] ?? '').replace('*', 'wildcard'));
    await writeFile(`${file}.pem`, chain);
    await writeFile(`${file}.key`, key);
    return { chainFile: `${file}.pem`, keyFile: `${file}.key` };
  };
  return {
    async register() {
      await client.createAccount({ termsOfServiceAgreed: true, contact: ['mailto:admin@corp.example'] });
    },
    issue,
    renew: issue,
    revoke: { account: (_, { chainFile }) => client.revokeCertificate(readFileSync(chainFile), { reason: 4 }) },
    changeKey: async () => client.updateAccountKey(await acme.crypto.createPrivateEcdsaKey('P-384')),
  };
}

/** The library's own way from the request to the chain. */
async function byItself(
  client: acme.Client,
  applicant: Applicant,
  folder: string,
  { challenge }: Wanted,
  csr: Buffer,
): Promise<string> {
  await using answers = new AsyncDisposableStack();
  if (challenge === 'http-01') answers.use(await serveWebRoot(folder, applicant.httpPort));
  return await client.auto({
    csr,
    challengePriority: [challenge],
    skipChallengeVerification: true,
    async challengeCreateFn(authz, { type, token }, keyAuthorization) {
      if (challenge === 'none') throw new Error('an auto-approved account was asked for a challenge');
      answers.use(await responders[challenge]({ applicant, folder, authz, token, keyAuthorization }));
      if (type !== challenge) throw new Error(`asked for ${type} instead of ${challenge}`);
    },
    // All go at the end: the library works on all names at once, and one web server answers for them.
    challengeRemoveFn: async () => undefined,
  });
}

/** The same by its single steps: for dates and IP addresses, which the other way has no words for. */
async function byHand(
  client: acme.Client,
  applicant: Applicant,
  folder: string,
  { names, days, challenge: type }: Wanted,
  csr: Buffer,
): Promise<string> {
  const order = await client.createOrder({
    identifiers: names.map((value) => ({ type: isIpAddress(value) ? 'ip' : 'dns', value })),
    ...(days !== undefined && { notAfter: new Date(Date.now() + days * DAY_MS).toISOString() }),
  });
  await using answers = new AsyncDisposableStack();
  if (type === 'http-01') answers.use(await serveWebRoot(folder, applicant.httpPort));
  for (const authz of await client.getAuthorizations(order)) {
    if (authz.status === 'valid') continue;
    const challenge = authz.challenges.find((offered) => offered.type === type);
    if (challenge === undefined || type === 'none') throw new Error(`${type} is not offered`);
    const keyAuthorization = await client.getChallengeKeyAuthorization(challenge);
    answers.use(
      await responders[type]({
        applicant,
        folder,
        authz,
        token: challenge.token,
        keyAuthorization,
      }),
    );
    await client.completeChallenge(challenge);
    await client.waitForValidStatus(challenge);
  }
  return client.getCertificate(await client.finalizeOrder(order, csr));
}

type Asked = {
  readonly applicant: Applicant;
  readonly folder: string;
  readonly authz: acme.Authorization;
  readonly token: string;
  readonly keyAuthorization: string;
};

const responders: Readonly<Record<ChallengeType, (asked: Asked) => Promise<AsyncDisposable>>> = {
  async 'http-01'({ folder, token, keyAuthorization }) {
    const file = join(folder, token);
    await writeFile(file, keyAuthorization);
    return { [Symbol.asyncDispose]: () => rm(file) };
  },
  async 'dns-01'({ applicant, authz, keyAuthorization }) {
    const record = JSON.stringify({ fqdn: `_acme-challenge.${authz.identifier.value}`, value: keyAuthorization });
    const send = (verb: string) => fetch(`${applicant.txtUrl}/${verb}`, { method: 'POST', body: record });
    await send('present');
    return { [Symbol.asyncDispose]: async () => void (await send('cleanup')) };
  },
  async 'tls-alpn-01'({ applicant, authz, keyAuthorization }) {
    const [key, cert] = await acme.crypto.createAlpnCertificate(authz, keyAuthorization);
    const server = createServer({ key, cert, ALPNProtocols: ['acme-tls/1'] });
    await new Promise<void>((resolve) => server.listen(applicant.tlsPort, '127.0.0.1', resolve));
    return { [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
  },
};
