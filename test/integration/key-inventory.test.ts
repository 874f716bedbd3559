// Which keys are there: of the rows that need them, and of none.
import { expect, test } from 'vitest';
import { formatId } from '../../src/core/ids.ts';
import { inventoryOfKeys, requireLoadableKeys } from '../../src/core/key-inventory.ts';
import { generatePrivateKey, pkcs8Of } from '../../src/x509/private-key.ts';
import { testCa } from '../support/ca.ts';
import { givenIntermediate, givenRoot } from '../support/given-signing-cert.ts';

test('with all keys in place there is nothing to tell', async () => {
  await using it = await testCa();
  await requireLoadableKeys(it.ca);
  await givenIntermediate(it.ca);
  await requireLoadableKeys(it.ca);
  expect(await inventoryOfKeys(it.ca)).toEqual({ fitting: 2, missing: [], mismatched: [], strays: [] });
});

test('a key that is missing, one that is another, and one of nobody are told by name', async () => {
  await using it = await testCa();
  const { ca } = it;
  const [missing, other] = [await givenRoot(ca), await givenRoot(ca, { name: 'Other' })];
  const pkcs8 = pkcs8Of(await generatePrivateKey('ec_256'));
  for (const { id } of [missing, other]) await ca.keys.remove(id);
  await ca.keys.createOnce(other.id, { pkcs8 });
  await ca.keys.createOnce('0199aaaa-0000-7000-8000-000000000000', { pkcs8 });
  expect(await inventoryOfKeys(ca)).toEqual({
    fitting: 0,
    missing: [`Corp Root (${formatId('scrt', missing.id)}, ${missing.id}.pem)`],
    mismatched: [`Other (${formatId('scrt', other.id)}, ${other.id}.pem)`],
    strays: ['0199aaaa-0000-7000-8000-000000000000.pem'],
  });
});

test('one key that is lost keeps nobody waiting, all of them do', async () => {
  await using it = await testCa();
  const { ca } = it;
  const [one, two] = [await givenRoot(ca), await givenRoot(ca, { name: 'Other' })];
  await ca.keys.remove(one.id);
  await requireLoadableKeys(ca);
  await ca.keys.remove(two.id);
  await expect(requireLoadableKeys(ca)).rejects.toMatchObject({ kind: 'unavailable' });
});
