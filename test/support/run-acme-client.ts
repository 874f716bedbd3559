// One certificate by acme-client: `node run-acme-client.ts DIRECTORY KID HMAC NAME` prints its chain, from a fresh account;
// `node run-acme-client.ts DIRECTORY --account-key FILE NAME` that of the account which has this key.
import { readFile } from 'node:fs/promises';
import acme from 'acme-client';

const [directoryUrl = '', kid = '', given = '', name = ''] = process.argv.slice(2);
const isKnown = kid === '--account-key';
const accountKey = isKnown ? await readFile(given) : await acme.crypto.createPrivateEcdsaKey();
const binding = isKnown ? {} : { externalAccountBinding: { kid, hmacKey: given } };
// A refusal is the answer, not a reason to wait.
if (process.env.ACME_TRIES === '1') Object.assign(acme.axios.defaults, { acmeSettings: { retryMaxAttempts: 0 } });
const client = new acme.Client({ directoryUrl, accountKey, ...binding });
await client.createAccount(isKnown ? { onlyReturnExisting: true } : { termsOfServiceAgreed: true });
const order = await client.createOrder({ identifiers: [{ type: 'dns', value: name }] });
const [, csr] = await acme.crypto.createCsr({ altNames: [name] }, await acme.crypto.createPrivateEcdsaKey());
console.log(await client.getCertificate(await client.finalizeOrder(order, csr)));
