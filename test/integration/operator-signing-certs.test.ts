// SigningCert: what the operator makes of one, what it tells, and what holds one that is to go.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deleteDirectory } from '../../src/core/delete-directory.ts';
import { parseId } from '../../src/core/ids.ts';
import { findPublishedCrl } from '../../src/core/published-crls.ts';
import { updateSigningCert } from '../../src/core/update-signing-cert.ts';
import { readCertificatePem } from '../../src/x509/certificate-pem.ts';
import { readCsrPem } from '../../src/x509/csr.ts';
import { DAY_MS } from '../support/clock.ts';
import { eventually } from '../support/eventually.ts';
import { foreignCa } from '../support/foreign-ca.ts';
import { foreignCrl } from '../support/foreign-crl.ts';
import { admin } from '../support/given.ts';
import { givenDirectory } from '../support/given-directory.ts';
import { givenWholeOperator, type WholeOperator } from '../support/given-whole-operator.ts';
import { anIntermediate, aSigningCert, keyOfManifest } from '../support/manifests.ts';

let given: WholeOperator;
beforeEach(async () => {
  given = await givenWholeOperator();
});
afterEach(() => given[Symbol.asyncDispose]());

const root = aSigningCert('corp-root', { name: 'Corp Root' });
const rootKey = keyOfManifest(root);
const uuidOf = (key = rootKey): string => parseId('scrt', String(given.status(key).id)) ?? expect.fail('no id');
const finalizers = (key = rootKey) => given.objects.read(key)?.metadata.finalizers;

describe('a root', () => {
  test('is made once, with all that people look for in its status', async () => {
    given.objects.apply(root);
    await given.ready(rootKey);
    const { publicCert, ...status } = given.status(rootKey);
    expect(readCertificatePem(String(publicCert)).subject.fields.CN).toBe('Corp Root');
    expect(status).toMatchObject({
      id: expect.stringMatching(/^scrt_/),
      keyType: 'ec_256',
      subject: expect.stringContaining('CN=Corp Root'),
      serial: expect.stringMatching(/^([0-9a-f]{2})+$/),
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      notBefore: '2026-05-17T11:55:00.000Z',
      notAfter: '2046-05-17T11:59:59.000Z',
      secretName: expect.stringContaining(uuidOf()),
    });
    expect(given.conditions(rootKey)).toEqual({
      Ready: 'True Succeeded',
      Issued: 'True Succeeded',
      KeyAvailable: 'True Succeeded',
      Expiring: 'False Current',
    });
    expect(finalizers()).toHaveLength(1);
    await given.recorded(rootKey, 'CertificateIssued');
    expect(given.reasons(rootKey)).toEqual(['KeyGenerated', 'CertificateIssued']);
  });

  test('is not written again by a second visit', async () => {
    given.objects.apply(root);
    await given.ready(rootKey);
    await given.visited(rootKey);
    const before = given.reasons(rootKey);
    expect(await given.visited(rootKey)).toEqual(['patch SigningCert/status acmery-system/corp-root']);
    expect(given.reasons(rootKey)).toEqual(before);
  });

  test('whose name was changed behind its back is repaired, and that is told', async () => {
    given.objects.apply(root);
    await given.ready(rootKey);
    await given.ca.database.db.updateTable('signing_certs').set({ name: 'Drifted' }).execute();
    await given.visited(rootKey);
    await given.recorded(rootKey, 'DriftCorrected');
  });

  test('in a namespace where none are accepted says where they are', async () => {
    const elsewhere = aSigningCert('corp-root', {}, 'shop');
    given.objects.apply(elsewhere);
    await given.told(keyOfManifest(elsewhere), {
      Ready: 'False NamespaceNotAllowed',
      Stalled: 'True NamespaceNotAllowed',
    });
    expect(given.message(keyOfManifest(elsewhere))).toContain('accepted in acmery-system only');
    given.objects.delete(keyOfManifest(elsewhere));
    await given.gone(keyOfManifest(elsewhere));
  });

  test('whose key is lost asks for it, and is ready once it is back', async () => {
    given.objects.apply(root);
    await given.ready(rootKey);
    const { ca } = given;
    const read = ca.keys.read;
    Object.assign(ca.keys, { read: async () => undefined });
    await given.visited(rootKey);
    expect(given.conditions(rootKey)).toMatchObject({ Ready: 'False KeyMissing', KeyAvailable: 'False KeyMissing' });
    expect(given.message(rootKey)).toContain('restore it from a backup');
    Object.assign(ca.keys, { read });
    await given.visited(rootKey);
    await given.ready(rootKey);
  });

  test('that nears its end says so, and that it has ended', async () => {
    given.objects.apply(aSigningCert('corp-root', { validDays: 40 }));
    await given.ready(rootKey);
    given.ca.clock.advance(11 * DAY_MS);
    await given.visited(rootKey);
    expect(given.conditions(rootKey)).toMatchObject({ Ready: 'True Succeeded', Expiring: 'True EndsSoon' });
    given.ca.clock.advance(30 * DAY_MS);
    await given.visited(rootKey);
    expect(given.conditions(rootKey)).toMatchObject({
      Ready: 'False Expired',
      Stalled: 'True Expired',
      Issued: 'False Expired',
    });
    expect(given.message(rootKey)).toContain('Declare a new SigningCert');
  });

  test('declared again by a restored cluster is taken over', async () => {
    given.objects.apply(root);
    await given.ready(rootKey);
    const { id } = given.status(rootKey);
    given.objects.restore(rootKey);
    await eventually('it is ready again', () => given.conditions(rootKey).Ready === 'True Succeeded');
    expect(given.status(rootKey).id).toBe(id);
    await given.recorded(rootKey, 'Adopted');
  });
});

describe('an intermediate', () => {
  const issuing = anIntermediate('issuing', 'corp-root');
  const key = keyOfManifest(issuing);

  test('waits for its parent, and goes on as soon as that is ready', async () => {
    given.objects.apply(issuing);
    await given.told(key, {
      Ready: 'False DependencyNotReady',
      Reconciling: 'True Progressing',
      Issued: 'False DependencyNotReady',
    });
    given.objects.apply(root);
    await given.ready(key);
    expect(given.status(key).signingCertId).toBe(given.status(rootKey).id);
  });

  test('stays ready when its parent has gone and left its CA cert behind', async () => {
    given.objects.apply(root);
    given.objects.apply(issuing);
    await given.ready(key);
    given.objects.delete(rootKey);
    await given.gone(rootKey);
    await given.visited(key);
    await given.ready(key);
  });

  test('of a parent elsewhere shows its CSR, and takes the certificate', async () => {
    const requested = aSigningCert('issuing', { certType: 'intermediate' });
    given.objects.apply(requested);
    await given.told(key, { Ready: 'False AwaitingCertificate', Issued: 'False AwaitingCertificate' });
    const { spki } = readCsrPem(String(given.status(key).csr));
    const { publicCert } = await foreignCa({ parent: await foreignCa(), spki, subject: { CN: 'issuing' } });
    given.objects.apply({ ...requested, spec: { ...requested.spec, publicCert } });
    await given.ready(key);
    expect(given.status(key)).toMatchObject({ publicCert });
    expect(given.status(key).csr).toBeUndefined();
    await given.recorded(key, 'CertificateIssued');
    expect(given.reasons(key)).not.toContain('DriftCorrected');
  });
});

describe('an import', () => {
  const imported = aSigningCert('corp-root', { import: { secretRef: { name: 'old-root' } } });

  test('waits for its Secret, and does not need it any more once it is done', async () => {
    given.objects.apply(imported);
    await given.told(rootKey, { Ready: 'False DependencyNotReady' });
    expect(given.message(rootKey)).toContain('Secret acmery-system/old-root does not exist yet');
    const [old, other] = [await foreignCa(), await foreignCa()];
    given.objects.setSecret('acmery-system', 'old-root', { 'tls.crt': old.publicCert });
    await given.visited(rootKey);
    expect(given.message(rootKey)).toContain('has no tls.key');
    given.objects.setSecret('acmery-system', 'old-root', {
      'tls.crt': old.publicCert + other.publicCert,
      'tls.key': old.privateKey,
    });
    await given.visited(rootKey);
    await given.ready(rootKey);
    expect(given.status(rootKey).publicCert).toBe(old.publicCert);
    given.objects.outputs.erase('Secret', 'acmery-system', 'old-root');
    expect(await given.visited(rootKey)).not.toContain('get Secret acmery-system/old-root');
    await given.ready(rootKey);
  });

  test('of what does not fit says why, and names neither key nor certificate', async () => {
    const [one, other] = [await foreignCa(), await foreignCa()];
    given.objects.setSecret('acmery-system', 'old-root', { 'tls.crt': one.publicCert, 'tls.key': other.privateKey });
    given.objects.apply(imported);
    await given.told(rootKey, {
      Ready: 'False ImportFailed',
      Stalled: 'True ImportFailed',
      Issued: 'False ImportFailed',
    });
    expect(given.message(rootKey)).toMatch(/Secret old-root .* their public keys differ/);
    expect(given.message(rootKey)).not.toContain('BEGIN');
    given.objects.setSecret('acmery-system', 'old-root', { 'tls.crt': one.publicCert, 'tls.key': one.privateKey });
    await given.visited(rootKey);
    await given.ready(rootKey);
  });

  test('of an offline CA publishes the CRL that lies beside it', async () => {
    const old = await foreignCa();
    given.objects.setSecret('acmery-system', 'old-root', { 'tls.crt': old.publicCert });
    given.objects.setSecret('acmery-system', 'old-crl', { 'ca.crl': await foreignCrl(await foreignCa()) });
    given.objects.apply(
      aSigningCert('corp-root', {
        keyAvailability: 'offline',
        import: { secretRef: { name: 'old-root' } },
        crl: { secretRef: { name: 'old-crl' } },
      }),
    );
    await given.told(rootKey, {
      Ready: 'False CrlRefused',
      KeyAvailable: 'False KeyOffline',
      Issued: 'True Succeeded',
    });
    given.objects.setSecret('acmery-system', 'old-crl', { 'crl.pem': await foreignCrl(old, { number: 7n }) });
    await given.visited(rootKey);
    await given.ready(rootKey);
    expect((await findPublishedCrl(given.ca, uuidOf()))?.number).toBe('7');
  });
});

describe('one that is to go', () => {
  test('leaves CA cert and key behind, which /v1 may change from then on', async () => {
    given.objects.apply(root);
    await given.ready(rootKey);
    const id = uuidOf();
    given.objects.delete(rootKey);
    await given.gone(rootKey);
    expect(await updateSigningCert(given.ca, admin, id, { name: 'By hand' })).toMatchObject({ name: 'By hand' });
  });

  test('with its CA cert waits for those who refer to it, by name, and goes when they are gone', async () => {
    const deleted = aSigningCert('corp-root', { deletionPolicy: 'Delete' });
    given.objects.apply(deleted);
    const children = Array.from({ length: 6 }, (_, index) =>
      anIntermediate(`issuing-${index}`, 'corp-root', { deletionPolicy: 'Delete' }),
    );
    for (const child of children) given.objects.apply(child);
    for (const child of children) await given.ready(keyOfManifest(child));
    given.objects.delete(rootKey);
    await given.told(rootKey, { Ready: 'False DeletionBlocked' });
    expect(given.message(rootKey)).toMatch(
      /SigningCert acmery-system\/issuing-0, .*issuing-4 and 1 more; delete these first/,
    );
    await given.recorded(rootKey, 'DeletionBlocked');
    for (const child of children) given.objects.delete(keyOfManifest(child));
    await given.gone(rootKey);
    const rows = await given.ca.database.db.selectFrom('signing_certs').select('deleted_at').execute();
    expect(rows.every(({ deleted_at }) => deleted_at !== null)).toBe(true);
  });

  test('is not held by those whose namespace goes, but by what /v1 made of it', async () => {
    await given[Symbol.asyncDispose]();
    given = await givenWholeOperator({ caNamespaces: undefined });
    const deleted = aSigningCert('corp-root', { deletionPolicy: 'Delete', allowedNamespaces: { from: 'All' } });
    const child = aSigningCert(
      'issuing',
      {
        certType: 'intermediate',
        signingCertRef: { name: 'corp-root', namespace: 'acmery-system' },
        deletionPolicy: 'Delete',
      },
      'shop',
    );
    given.objects.apply(deleted);
    given.objects.apply(child);
    await given.ready(keyOfManifest(child));
    const directory = await givenDirectory(given.ca, { issuer: { id: uuidOf(keyOfManifest(child)) } });
    given.objects.setNamespace('shop', { isTerminating: true });
    given.objects.delete(rootKey);
    given.objects.delete(keyOfManifest(child));
    await given.told(keyOfManifest(child), { Ready: 'False DeletionBlocked' });
    expect(given.message(keyOfManifest(child))).toContain('1 directory');
    await deleteDirectory(given.ca, admin, directory.id);
    given.look(keyOfManifest(child));
    await given.gone(rootKey);
  });

  test('and never had a row goes at once', async () => {
    const lonely = anIntermediate('issuing', 'nobody', { deletionPolicy: 'Delete' });
    given.objects.apply(lonely);
    await given.told(keyOfManifest(lonely), { Ready: 'False DependencyNotReady' });
    given.objects.delete(keyOfManifest(lonely));
    await given.gone(keyOfManifest(lonely));
  });
});
