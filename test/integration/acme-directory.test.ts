// The directory document: what it says, where it is found, and who may read it.
import { expect, test } from 'vitest';
import { deleteDirectory } from '../../src/core/delete-directory.ts';
import { revokeAcmeKey } from '../../src/core/revoke-acme-key.ts';
import { updateDirectory } from '../../src/core/update-directory.ts';
import { testAcme } from '../support/acme.ts';
import { admin } from '../support/given.ts';
import { givenAcmeKey } from '../support/given-acme-key.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { sampleAcmeRoutes } from '../support/sample-acme-routes.ts';

test('DIR-1, DIR-2, DIR-3: it names every endpoint, and what a client should know', async () => {
  await using acme = await testAcme({
    directory: { slug: 'web', caa_tag: 'ca.corp.example', profiles: ['mtls', 'server'] },
  });
  const base = 'https://acme.corp.example/acme/web';

  expect(await acme.client().directory()).toEqual({
    newNonce: `${base}/new-nonce`,
    newAccount: `${base}/new-account`,
    newOrder: `${base}/new-order`,
    newAuthz: `${base}/new-authz`,
    revokeCert: `${base}/revoke-cert`,
    keyChange: `${base}/key-change`,
    renewalInfo: `${base}/renewal-info`,
    meta: {
      caaIdentities: ['ca.corp.example'],
      externalAccountRequired: false,
      profiles: { mtls: expect.any(String), server: expect.any(String) },
    },
  });
});

test('DIR-1: every endpoint that it names is served', async () => {
  await using acme = await testAcme();
  const client = acme.client();
  const { meta: _, ...endpoints } = await client.directory();

  for (const url of Object.values(endpoints)) {
    // What is served minds the media type; anything else is 404. The id of a certificate follows renewalInfo.
    const answers = [await client.send('POST', url), await client.send('POST', `${url}/id`)];
    expect([url, answers.map(({ status }) => status)]).toEqual([url, expect.arrayContaining([415])]);
  }
});

test('DIR-2: terms and website stand in it once they are configured', async () => {
  await using acme = await testAcme();
  const links = { terms_of_service: 'https://corp.example/terms', website: 'https://corp.example' };
  await updateDirectory(acme.ca, admin, acme.directory.id, links);

  expect(await acme.client().directory()).toMatchObject({
    meta: { termsOfService: links.terms_of_service, website: links.website },
  });
});

test('DIR-2: an account is required to be bound, unless one was registered by key', async () => {
  await using acme = await testAcme({ directory: { registration_mode: 'preregister' } });
  const isRequired = async () => (await acme.client().directory()).meta;

  expect(await isRequired()).toMatchObject({ externalAccountRequired: true });
  const { id } = await givenAcmeKey(acme.ca, acme.directory);
  expect(await isRequired()).toMatchObject({ externalAccountRequired: false });
  await revokeAcmeKey(acme.ca, admin, id);
  expect(await isRequired()).toMatchObject({ externalAccountRequired: true });
});

test('DIR-4: a slash at its end is no redirect, and there is nothing at the root', async () => {
  await using acme = await testAcme();
  const client = acme.client();
  const { directoryUrl } = client.target;

  const withSlash = await client.get(`${directoryUrl}/`);
  expect([withSlash.status, withSlash.json, withSlash.headers.link]).toEqual([
    200,
    await client.directory(),
    undefined,
  ]);
  expect(await client.get('https://acme.corp.example/')).toMatchObject({ status: 404 });
});

test('DIR-4, JWS-13, HTTP-18: with a host for each directory, the bare root is the directory of its host', async () => {
  await using acme = await testAcme({ publicUrl: 'https://{slug}.acme.corp.example:8443', directory: { slug: 'web' } });
  await givenDirectory(acme.ca, { slug: 'mail' });
  const client = await acme.account();
  const root = 'https://web.acme.corp.example:8443/';

  const read = await client.get(root);
  expect([read.status, read.json.newOrder]).toEqual([200, 'https://web.acme.corp.example:8443/acme/web/new-order']);
  expect((await client.get('https://mail.acme.corp.example/')).json.newOrder).toContain('https://mail.acme.');
  expect((await client.post(root)).status).toBe(200);
  // Elsewhere the path says which one it is.
  const { json } = await client.get(client.target.directoryUrl, { Host: 'mail.acme.corp.example:8443' });
  expect(json).toEqual(read.json);
  expect(client.kid).toContain('https://web.acme.corp.example:8443/acme/web/account/');
  for (const host of ['acme.corp.example', 'other.example', 'a.web.acme.corp.example', 'gone.acme.corp.example'])
    expect((await client.get(`https://${host}/`)).status).toBe(404);
});

test('DIR-5: an old slug leads to the same directory, and replies keep to the slug of the request', async () => {
  await using acme = await testAcme({ directory: { slug: 'old' }, routes: sampleAcmeRoutes });
  const client = await acme.account();
  await updateDirectory(acme.ca, admin, acme.directory.id, { slug: 'new' });
  const byNew = acme.client({ key: client.key, kid: client.kid, slug: 'new' });

  expect(await client.url('newOrder')).toBe('https://acme.corp.example/acme/old/new-order');
  expect(await byNew.url('newOrder')).toBe('https://acme.corp.example/acme/new/new-order');
  // The kid is under the old slug, the request under the new one.
  const order = await byNew.post(await byNew.url('newOrder'), {});
  expect([order.status, order.json.slug]).toEqual([201, 'new']);
  expect(order.headers.link).toBe('<https://acme.corp.example/acme/new/directory>;rel="index"');
});

test('DIR-5: a kid of another directory is unauthorized, though nonces are for all directories', async () => {
  await using acme = await testAcme({ routes: sampleAcmeRoutes });
  const other = await givenDirectory(acme.ca, { registration_mode: 'open' });
  const stranger = await acme.account({ directory: other });
  const here = await acme.account();
  const newOrder = await here.url('newOrder');

  const refused = await stranger.post(newOrder, {});
  expect([refused.status, refused.json.type]).toEqual([403, 'urn:ietf:params:acme:error:unauthorized']);
  // The same account under a URL that was never handed out.
  const kid = stranger.kid.replace(other.fields.slug, acme.directory.fields.slug);
  expect((await stranger.post(newOrder, {}, { kid })).json.type).toMatch(/accountDoesNotExist$/);
  expect(await here.post(newOrder, {}, { nonce: await stranger.nonce() })).toMatchObject({ status: 201 });
});

test('a deleted directory is gone at once for all requests', async () => {
  await using acme = await testAcme({ routes: sampleAcmeRoutes });
  const client = await acme.account();
  const newOrder = await client.url('newOrder');
  await deleteDirectory(acme.ca, admin, acme.directory.id);

  for (const answer of [await client.get(client.target.directoryUrl), await client.post(newOrder, {})]) {
    expect([answer.status, answer.json.type]).toEqual([404, 'urn:ietf:params:acme:error:malformed']);
    expect(answer.all('replay-nonce')).toHaveLength(1);
  }
});

test('G-26: in a cluster a directory that was never there may be on its way: 503; a deleted one is gone', async () => {
  await using acme = await testAcme({ directoriesComeLater: true });
  const client = acme.client();
  const base = acme.directory.directoryUrl.replace(`/${acme.directory.fields.slug}/directory`, '');
  const statusOf = async (path: string) => {
    const { status, headers } = await client.send('GET', `${base}/${path}`);
    return [status, headers['retry-after']];
  };
  expect(await statusOf('coming/directory')).toEqual([503, '5']);
  expect(await statusOf('Not_a_slug/directory')).toEqual([404, undefined]);
  await deleteDirectory(acme.ca, admin, acme.directory.id);
  expect(await statusOf(`${acme.directory.fields.slug}/directory`)).toEqual([404, undefined]);
});

test('newNonce, which decides nothing, knows a directory for a second longer', async () => {
  await using acme = await testAcme();
  const client = acme.client();
  const url = await client.url('newNonce');
  const statusOf = async () => (await client.send('HEAD', url)).status;
  expect(await statusOf()).toBe(200);
  await deleteDirectory(acme.ca, admin, acme.directory.id);
  expect(await statusOf()).toBe(200);
  acme.ca.clock.advance(1_000);
  expect(await statusOf()).toBe(404);
});

test('DIR-6: a client at another address than those admitted is refused everywhere, with a nonce', async () => {
  await using acme = await testAcme({
    routes: sampleAcmeRoutes,
    trusted: ['127.0.0.1'],
    directory: { remote_ip_whitelist: ['10.1.0.0/16', '2001:db8::/32'] },
  });
  const client = await acme.account();
  const base = client.target.directoryUrl.replace('/directory', '');
  const at = (address: string) => ({ 'X-Forwarded-For': address });
  const asked = async (address: string) => [
    await client.get(`${base}/directory`, at(address)),
    await client.send('HEAD', `${base}/new-nonce`, { headers: at(address) }),
    await client.post(`${base}/new-order`, {}, { headers: at(address), nonce: 'wrong' }),
  ];

  for (const answer of await asked('10.2.0.1')) {
    expect([answer.status, answer.all('replay-nonce').length]).toEqual([403, 1]);
    if (answer.text !== '') expect(answer.json.type).toBe('urn:ietf:params:acme:error:unauthorized');
  }
  expect((await asked('::ffff:10.1.2.3')).map(({ status }) => status)).toEqual([200, 200, 400]);
  expect((await asked('2001:db8::7')).map(({ status }) => status)).toEqual([200, 200, 400]);
});

test('SEC-37, DIR-6, ARI-1: who comes through no proxy of ours is who he is, whatever he says', async () => {
  await using acme = await testAcme({ directory: { remote_ip_whitelist: ['10.1.0.0/16'] } });
  const client = acme.client();
  const base = client.target.directoryUrl.replace('/directory', '');
  const spoofed = { 'X-Forwarded-For': '10.1.2.3', Forwarded: 'for=10.1.2.3', 'X-Real-IP': '10.1.2.3' };

  for (const [name, value] of Object.entries(spoofed))
    for (const path of ['directory', 'new-nonce', 'renewal-info/AA.AQ']) {
      const answer = await client.get(`${base}/${path}`, { [name]: value });
      expect([answer.status, answer.json.type]).toEqual([403, 'urn:ietf:params:acme:error:unauthorized']);
    }
});
