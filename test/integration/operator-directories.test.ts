// Directory: what the operator makes of one, who gets a slug, and what holds one that is to go.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { getDirectory } from '../../src/core/directories.ts';
import { formatId, parseId } from '../../src/core/ids.ts';
import { annotations } from '../../src/resources/annotations.ts';
import type { ResourceKey } from '../../src/resources/resource.ts';
import { eventually } from '../support/eventually.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenIssuedCert } from '../support/given-issued-cert.ts';
import { givenAccount } from '../support/given-order.ts';
import { givenIntermediate } from '../support/given-signing-cert.ts';
import { givenWholeOperator, type WholeOperator } from '../support/given-whole-operator.ts';
import { aDirectory, anIntermediate, aSigningCert, keyOfManifest } from '../support/manifests.ts';

let given: WholeOperator;
beforeEach(async () => {
  given = await givenWholeOperator();
});
afterEach(() => given[Symbol.asyncDispose]());

const web = aDirectory('web', 'issuing');
const webKey = keyOfManifest(web);
const uuidOf = (key = webKey): string => parseId('dir', String(given.status(key).id)) ?? expect.fail('no id');
const configMap = () => given.objects.outputs.output('ConfigMap', 'acmery-system', 'web-acme')?.values ?? {};
const issuers = () => {
  given.objects.apply(aSigningCert('corp-root', { allowedNamespaces: { from: 'All' } }));
  return given.objects.apply(anIntermediate('issuing', 'corp-root', { allowedNamespaces: { from: 'All' } }));
};
const ready = async (): Promise<void> => {
  issuers();
  given.objects.apply(web);
  await given.ready(webKey);
};
const binding = (name: string, directory: object, namespace = 'acmery-system') =>
  given.objects.apply({
    kind: 'ExternalBinding',
    namespace,
    name,
    spec: { directoryRef: directory, orderValidations: 'challenge', onDelete: 'KeepAccount', deletionPolicy: 'Delete' },
  });

describe('a Directory', () => {
  test('waits for its SigningCert, and serves as soon as that is ready', async () => {
    given.objects.apply(web);
    await given.told(webKey, {
      Ready: 'False DependencyNotReady',
      SigningCertReady: 'False DependencyNotReady',
      Accepted: 'Unknown Progressing',
      Programmed: 'Unknown Progressing',
    });
    issuers();
    await given.ready(webKey);
    expect(given.conditions(webKey)).toEqual({
      Ready: 'True Succeeded',
      Accepted: 'True Succeeded',
      SigningCertReady: 'True Succeeded',
      Programmed: 'True Succeeded',
    });
    expect(given.status(webKey)).toMatchObject({
      id: expect.stringMatching(/^dir_/),
      slug: 'web',
      directoryUrl: 'https://acme.corp.example/acme/web/directory',
      signingCertId: given.status({ ...webKey, kind: 'SigningCert', name: 'issuing' }).id,
      caaTag: 'web.acme.corp.example',
      configMapName: 'web-acme',
    });
    await given.recorded(webKey, 'DirectoryProgrammed');
  });

  test('tells its clients where it is and whom to trust', async () => {
    await ready();
    const { rootCert } = await getDirectory(given.ca, uuidOf());
    expect(configMap()).toEqual({
      directory: 'https://acme.corp.example/acme/web/directory',
      'ca.crt': expect.stringContaining('an anchor'),
      'roots.pem': rootCert,
    });
  });

  test('is not written again by a second visit, and repaired where it differs', async () => {
    await ready();
    await given.visited(webKey);
    const requests = await given.visited(webKey);
    expect(requests.filter((request) => !request.startsWith('apply'))).toEqual([
      'patch Directory/status acmery-system/web',
    ]);
    await given.ca.database.db.updateTable('directories').set({ cert_max_days: 9 }).execute();
    await given.visited(webKey);
    expect((await getDirectory(given.ca, uuidOf())).fields.cert_max_days).toBe(97);
    await given.recorded(webKey, 'DriftCorrected');
  });

  test('whose status is that of another database tells its clients what is true of this one', async () => {
    await ready();
    const known = given.status(webKey);
    given.objects.outputs.erase('ConfigMap', 'acmery-system', 'web-acme');
    given.objects.setStatus(webKey, { ...known, id: formatId('dir', '01890a5d-ac96-774b-bcce-b302099a8057') });
    await given.restarted();
    await eventually('the ConfigMap is there', () => configMap()['roots.pem'] !== undefined);
  });

  test('that refers to another SigningCert keeps the former root while certificates of it are out', async () => {
    await ready();
    const before = configMap()['roots.pem'] ?? '';
    const { fields } = await getDirectory(given.ca, uuidOf());
    const account = await givenAccount(given.ca, { id: fields.signing_cert_id }, uuidOf());
    await givenIssuedCert(given.ca, account);
    given.objects.apply(aSigningCert('new-root'));
    given.objects.apply(anIntermediate('new-issuing', 'new-root'));
    given.objects.apply({ ...web, spec: { ...web.spec, signingCertRef: { name: 'new-issuing' } } });
    await given.ready(webKey);
    expect(configMap()['roots.pem']).toMatch(
      new RegExp(`^-----BEGIN [^]*${before.slice(30, 90).replaceAll('+', '\\+')}`),
    );
    expect(configMap()['roots.pem']?.match(/BEGIN/g)).toHaveLength(2);
  });

  test('whose spec is refused says why, and goes on serving what it did', async () => {
    await ready();
    given.objects.apply({ ...web, spec: { ...web.spec, allowedDnsIdentifiers: ['a.*.b'] } });
    await given.told(webKey, {
      Ready: 'False InvalidSpec',
      Accepted: 'False InvalidSpec',
      Programmed: 'False InvalidSpec',
    });
    expect(given.message(webKey)).toContain('allowedDnsIdentifiers[0]');
    expect((await getDirectory(given.ca, uuidOf())).fields.allowed_dns_identifiers).toEqual(['**']);
  });

  test('without a slug needs a name that is one', async () => {
    const dotted = aDirectory('web.corp', 'issuing');
    given.objects.apply(dotted);
    await given.told(keyOfManifest(dotted), { Ready: 'False InvalidSpec', Accepted: 'False InvalidSpec' });
    expect(given.message(keyOfManifest(dotted))).toMatch(/web\.corp.*is no slug.*Name one/);
  });

  test('leaves a ConfigMap of its name alone that is not its own', async () => {
    given.objects.outputs.write('ConfigMap', 'acmery-system', 'web-acme', { mine: 'yes' });
    issuers();
    given.objects.apply(web);
    await given.told(webKey, { Ready: 'False ConfigMapConflict', Programmed: 'True Succeeded' });
    expect(configMap()).toEqual({ mine: 'yes' });
  });
});

describe('of two with one slug', () => {
  const other = aDirectory('other', 'issuing', { slug: 'web' });
  const otherKey = keyOfManifest(other);

  test('the older gets it, also where the younger could go first, and the younger gets it when that goes', async () => {
    given.objects.apply(web);
    given.ca.clock.advance(1_000);
    given.objects.apply(other);
    await given.told(otherKey, {
      Ready: 'False SlugConflict',
      Stalled: 'True SlugConflict',
      Accepted: 'False SlugConflict',
    });
    expect(given.message(otherKey)).toContain('Directory acmery-system/web, which is older');
    issuers();
    await given.ready(webKey);
    expect(given.conditions(otherKey).Ready).toBe('False SlugConflict');
    given.objects.annotate(otherKey, { [annotations.reuseSlug]: 'true' });
    given.objects.delete(webKey);
    await given.gone(webKey);
    await given.ready(otherKey);
  });

  test('the one whose row has it keeps it, however old the other is', async () => {
    await ready();
    given.ca.clock.advance(-60_000);
    given.objects.apply(other);
    await given.told(otherKey, { Ready: 'False SlugConflict' });
    await given.visited(webKey);
    await given.ready(webKey);
  });

  test('nobody keeps a slug from others by an object that no CA cert lets in', async () => {
    const squatter = aDirectory(
      'squatter',
      'issuing',
      { slug: 'web', signingCertRef: { name: 'corp-root', namespace: 'acmery-system' } },
      'shop',
    );
    given.objects.apply(squatter);
    await given.told(keyOfManifest(squatter), { Ready: 'False RefNotPermitted' });
    given.ca.clock.advance(1_000);
    given.objects.apply(aSigningCert('corp-root'));
    given.objects.apply(anIntermediate('issuing', 'corp-root'));
    given.objects.apply(web);
    await given.ready(webKey);
    await given.visited(keyOfManifest(squatter));
    expect(given.conditions(keyOfManifest(squatter)).Ready).toBe('False RefNotPermitted');
  });

  test('one in another namespace is not named', async () => {
    await ready();
    given.ca.clock.advance(1_000);
    const far = aDirectory(
      'far',
      'issuing',
      { slug: 'web', signingCertRef: { name: 'issuing', namespace: 'acmery-system' } },
      'shop',
    );
    given.objects.apply(far);
    await given.told(keyOfManifest(far), { Ready: 'False SlugConflict' });
    expect(given.message(keyOfManifest(far))).not.toContain('acmery-system/web');
  });

  test('a directory of /v1 is taken over by the annotation', async () => {
    issuers();
    const { id } = await givenDirectory(given.ca, { issuer: await givenIntermediate(given.ca), slug: 'web' });
    given.objects.apply(web);
    await given.told(webKey, { Ready: 'False AlreadyExists', Accepted: 'False AlreadyExists' });
    given.objects.annotate(webKey, { [annotations.adopt]: formatId('dir', id) });
    await given.ready(webKey);
    expect(uuidOf()).toBe(id);
    await given.recorded(webKey, 'Adopted');
  });
});

describe('one that is to go', () => {
  const isDeleted = async (key: ResourceKey, uuid: string): Promise<void> => {
    await given.gone(key);
    await expect(getDirectory(given.ca, uuid)).rejects.toMatchObject({ kind: 'not_found' });
  };

  test('waits for the ExternalBindings that name it, and goes with the last of them', async () => {
    await ready();
    const uuid = uuidOf();
    const key = { kind: 'ExternalBinding', namespace: 'acmery-system', name: 'shop' } as const;
    binding('shop', { name: 'web' });
    await given.ready(key);
    given.objects.delete(webKey);
    await given.told(webKey, { Ready: 'False DeletionBlocked' });
    expect(given.message(webKey)).toContain('ExternalBinding acmery-system/shop');
    given.objects.delete(key);
    await isDeleted(webKey, uuid);
  });

  test('is not held by those of other namespaces that it never let in', async () => {
    await ready();
    const uuid = uuidOf();
    const key = { kind: 'ExternalBinding', namespace: 'shop', name: 'shop' } as const;
    binding('shop', { name: 'web', namespace: 'acmery-system' }, 'shop');
    await given.told(key, { Ready: 'False RefNotPermitted' });
    given.objects.delete(webKey);
    await isDeleted(webKey, uuid);
  });

  test('and is retained serves on, and is taken back by the next of its name', async () => {
    issuers();
    const retained = aDirectory('web', 'issuing', { deletionPolicy: 'Retain' });
    given.objects.apply(retained);
    await given.ready(webKey);
    const uuid = uuidOf();
    binding('shop', { name: 'web' });
    given.objects.delete(webKey);
    await given.gone(webKey);
    expect((await getDirectory(given.ca, uuid)).fields.slug).toBe('web');
    given.objects.apply(retained);
    await eventually('it is ready again', () => given.conditions(webKey).Ready === 'True Succeeded');
    expect(uuidOf()).toBe(uuid);
  });

  test('declared again is the directory that it was', async () => {
    await ready();
    const uuid = uuidOf();
    given.objects.delete(webKey);
    await isDeleted(webKey, uuid);
    given.objects.apply(web);
    await eventually('it is ready again', () => given.conditions(webKey).Ready === 'True Succeeded');
    expect(uuidOf()).toBe(uuid);
  });
});
