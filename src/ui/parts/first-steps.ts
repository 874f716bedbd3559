// What a newcomer can do next, in the place of an empty list.
import { type Html, html } from '../../html/html.ts';

type Step = {
  readonly sentence: string;
  readonly manifest: string;
  readonly path: string;
  readonly body: object;
};

const step = ({ sentence, manifest, path, body }: Step): Html => html`<p>${sentence}</p>
<details open><summary>As a custom resource</summary><pre tabindex="0">${manifest}</pre></details>
<details><summary>Through /v1</summary><pre tabindex="0">curl --cacert ca.crt -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' "$ACMERY${path}" \\
  -d '${JSON.stringify(body)}'</pre></details>`;

export const noCaYet = step({
  sentence:
    'There is no CA cert yet. The first one is a root; the next one, an intermediate below it, signs for directories.',
  manifest: `apiVersion: acmery.io/v1
kind: SigningCert
metadata:
  name: corp-root
spec:
  certType: root
  keyAvailability: online
  privateKeyType: ec_384
  name: Corp Root
---
apiVersion: acmery.io/v1
kind: SigningCert
metadata:
  name: corp-issuing
spec:
  certType: intermediate
  keyAvailability: online
  privateKeyType: ec_256
  signingCertRef:
    name: corp-root
  name: Corp Issuing
`,
  path: '/v1/signing_certs',
  body: {
    signing_cert: { cert_type: 'root', key_availability: 'online', private_key_type: 'ec_384', name: 'Corp Root' },
  },
});

export const noDirectoryYet = step({
  sentence:
    'There is no directory yet. A directory is an ACME server with rules of its own, on an online intermediate.',
  manifest: `apiVersion: acmery.io/v1
kind: Directory
metadata:
  name: web
spec:
  signingCertRef:
    name: corp-issuing
  allowedDnsIdentifiers: ["**.corp.example"]
  allowedNamespaces:
    from: All
`,
  path: '/v1/directories',
  body: { directory: { name: 'Web', slug: 'web', signing_cert_id: 'scrt_...' } },
});

export const noOrderYet: Html = html`<p>There is no order here. Orders come from ACME clients: give one the URL of a
directory and, unless the directory is open, an EAB token.</p>
<p><a href="/v1/docs#createExternalBinding">Make an EAB token</a> · <a href="/ui/directories">Directories</a></p>`;

export const noCertYet: Html = html`<p>There is no certificate here. Each comes of an order that became valid.</p>
<p><a href="/ui/orders">Orders</a> · <a href="/ui/orders?state=invalid">Orders that failed</a></p>`;
