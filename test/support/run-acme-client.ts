// One certificate by acme-client, from a fresh account: `node run-acme-client.ts DIRECTORY KID HMAC NAME` prints its chain.
import acme from 'acme-client';

const [directoryUrl = '', kid = '', hmacKey = '', name = ''] = process.argv.slice(2);
const accountKey = await acme.crypto.createPrivateEcdsaKey();
const client = new acme.Client({ directoryUrl, accountKey, externalAccountBinding: { kid, hmacKey } });
await client.createAccount({ termsOfServiceAgreed: true });
const order = await client.createOrder({ identifiers: [{ type: 'dns', value: name }] });
const [, csr] = await acme.crypto.createCsr({ altNames: [name] }, await acme.crypto.createPrivateEcdsaKey());
console.log(await client.getCertificate(await client.finalizeOrder(order, csr)));
