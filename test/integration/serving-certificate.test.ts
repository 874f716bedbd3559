// The serving CA and the certificates of our own HTTPS, over years and with several processes.
import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { openServingCa } from '../../src/core/serving-ca.ts';
import { keepServingCertificate, type ServingCertificate } from '../../src/core/serving-certificate.ts';
import { type TestCa, testCa } from '../support/ca.ts';
import { DAY_MS } from '../support/clock.ts';

async function keeping({ ca }: TestCa) {
  const used: ServingCertificate[] = [];
  const renew = await keepServingCertificate(
    ca,
    ['localhost', '::1'],
    async (certificate) => void used.push(certificate),
  );
  return { used, renew };
}

const anchorsOf = (pem: string): X509Certificate[] =>
  pem.split(/(?<=-----END CERTIFICATE-----\n)/).map((one) => new X509Certificate(one));

test('processes that start at once on a new database share one serving CA', async () => {
  await using test = await testCa();

  const opened = await Promise.all(Array.from({ length: 8 }, () => openServingCa(test.ca)));

  expect(new Set(opened.map(({ anchors }) => anchors)).size).toBe(1);
  expect(await test.ca.keys.list()).toHaveLength(1);
});

test('G-28: a certificate is good for its names under the anchor, and is renewed at half its life', async () => {
  await using test = await testCa();
  const { used, renew } = await keeping(test);

  test.ca.clock.advance(14 * DAY_MS);
  await renew();
  expect(used).toHaveLength(1);
  test.ca.clock.advance(2 * DAY_MS);
  await renew();

  expect(used).toHaveLength(2);
  for (const { certificate, anchors } of used) {
    const leaf = new X509Certificate(certificate);
    const [anchor] = anchorsOf(anchors);
    // Some clients still compare the common name.
    expect(leaf.subject).toBe('CN=localhost');
    expect(leaf.checkHost('localhost')).toBe('localhost');
    expect(leaf.checkIP('::1')).toBe('::1');
    expect(anchor && leaf.verify(anchor.publicKey)).toBe(true);
  }
});

test('a clock that is set back to before the certificate begins gets a new one, good now', async () => {
  await using test = await testCa();
  await openServingCa(test.ca);
  test.ca.clock.advance(DAY_MS);
  const { used, renew } = await keeping(test);

  test.ca.clock.advance(-DAY_MS / 2);
  await renew();

  expect(used).toHaveLength(2);
  expect(used[1]?.notBefore.getTime()).toBeLessThan(test.ca.clock.now().getTime());
});

test('a renewal that fails is tried again by the next call', async () => {
  await using test = await testCa();
  const used: ServingCertificate[] = [];
  let isBroken = false;
  const renew = await keepServingCertificate(test.ca, ['localhost'], async (certificate) => {
    if (isBroken) throw new Error('the disk is full');
    used.push(certificate);
  });

  test.ca.clock.advance(20 * DAY_MS);
  isBroken = true;
  await expect(renew()).rejects.toThrow('the disk is full');
  isBroken = false;
  await renew();

  expect(used).toHaveLength(2);
});

test('a successor stands beside the serving CA for a year, then takes over, and at last is alone', async () => {
  await using test = await testCa();
  const first = await openServingCa(test.ca);

  test.ca.clock.advance(3_300 * DAY_MS);
  const together = await openServingCa(test.ca);
  test.ca.clock.advance(270 * DAY_MS);
  const handedOver = await openServingCa(test.ca);
  test.ca.clock.advance(90 * DAY_MS);
  const alone = await openServingCa(test.ca);

  expect(together.certificate.equals(first.certificate)).toBe(true);
  expect(anchorsOf(together.anchors)).toHaveLength(2);
  expect(handedOver.certificate.equals(first.certificate)).toBe(false);
  expect(anchorsOf(handedOver.anchors)).toHaveLength(2);
  expect(anchorsOf(alone.anchors)).toHaveLength(1);
});
