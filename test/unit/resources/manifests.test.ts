import { expect, test } from 'vitest';
import { parseYaml } from '../../../src/folder/yaml.ts';
import { problemLine } from '../../../src/resources/manifest.ts';
import { readManifests } from '../../../src/resources/manifests.ts';

const read = (text: string, file = 'web.yaml') => readManifests(parseYaml(file, text).documents, 'default');
const linesOf = (text: string) => read(text).problems.map(problemLine);

const WEB = `apiVersion: acmery.io/v1
kind: Directory
metadata: {name: web, namespace: acmery-system}
spec: {signingCertRef: {name: corp}}
`;
const withSpec = (spec: string) => WEB.replace(/spec: .*\n/, `spec:\n  signingCertRef: {name: corp}\n${spec}`);

test('a manifest is read with its defaults', () => {
  const { manifests, problems } = read(WEB.replace('}\nspec', ', labels: {a: b}, annotations: {c: d}}\nspec'));
  expect(problems).toEqual([]);
  expect(manifests).toEqual([
    {
      apiVersion: 'acmery.io/v1',
      kind: 'Directory',
      metadata: { name: 'web', namespace: 'acmery-system', labels: { a: 'b' }, annotations: { c: 'd' } },
      spec: expect.objectContaining({
        certMinDays: 2,
        certMaxDays: 97,
        deletionPolicy: 'Delete',
        profiles: ['server'],
      }),
    },
  ]);
});

test('a manifest without a namespace is in the usual one', () => {
  expect(read(WEB.replace(', namespace: acmery-system', '')).manifests[0]?.metadata.namespace).toBe('default');
});

test('every problem is named with its line, object and field', () => {
  const text = withSpec(`  certMinDays: -1
  certMaxDays: "90"
  slug: Web
  allowedDnsIdentifiers:
    - "**.corp.example"
    - a_b
  allowedDnsIdentifier: []
  allowed_ip_identifiers: []
`);
  expect(linesOf(text)).toEqual([
    'web.yaml:12: Directory acmery-system/web: spec.allowedDnsIdentifier: there is no field "allowedDnsIdentifier" here; did you mean "allowedDnsIdentifiers"?',
    'web.yaml:13: Directory acmery-system/web: spec.allowed_ip_identifiers: there is no field "allowed_ip_identifiers" here; did you mean "allowedIpIdentifiers"?',
    'web.yaml:8: Directory acmery-system/web: spec.slug: expected a slug: 1 to 63 characters of a-z, 0-9 and inner "-", got "Web"',
    expect.stringMatching(/^web\.yaml:11: .*: spec\.allowedDnsIdentifiers\[1\]: expected a DNS pattern.*, got "a_b"$/),
    'web.yaml:6: Directory acmery-system/web: spec.certMinDays: expected an integer from 0 to 3650, got -1',
    'web.yaml:7: Directory acmery-system/web: spec.certMaxDays: expected an integer from 0 to 3650, got "90"',
  ]);
});

test('a rule over several fields is asked once each of them is fine', () => {
  expect(linesOf(withSpec('  certMinDays: 9\n  certMaxDays: 8\n'))).toEqual([
    'web.yaml:6: Directory acmery-system/web: spec.certMinDays: certMinDays must not be above certMaxDays',
  ]);
});

test('a missing field is missing where its parent stands', () => {
  expect(linesOf(WEB.replace('{signingCertRef: {name: corp}}', '\n  signingCertRef:\n    namespace: a'))).toEqual([
    'web.yaml:5: Directory acmery-system/web: spec.signingCertRef.name: this field is required',
  ]);
  expect(linesOf('---\n---\napiVersion: acmery.io/v1\nkind: AcmeKey\nmetadata: {name: a}\n')).toEqual([
    'web.yaml:3: AcmeKey default/a: spec: this field is required',
  ]);
});

test.each([
  ['slug: no', 'got false; put it in quotes: y, n, yes'],
  ['caaTag: 12', 'got 12; put it in quotes'],
  ['profiles: yes', 'expected a list of 1 to 3 items, got true'],
  ['certMinDays: yes', 'expected an integer from 0 to 3650, got true'],
])('%s: text that YAML takes for something else needs quotes', (field, words) => {
  const [line = ''] = linesOf(withSpec(`  ${field}\n`));
  expect(line.slice(line.indexOf(words))).toContain(words);
  expect(line.includes('quotes')).toBe(words.includes('quotes'));
});

test('a private key in the wrong place is not repeated', () => {
  expect(linesOf(withSpec('  name: "-----BEGIN PRIVATE KEY-----\\nMIIsecret"\n')).join()).not.toContain('MIIsecret');
});

test('what a cluster adds is read over, and what nobody knows is refused', () => {
  const fromCluster = WEB.replace(
    '}\nspec',
    ', uid: u, generation: 3, managedFields: [{}], finalizers: [acmery.io/finalizer]}\nstatus: {anything: 1}\nspec',
  );
  expect(read(fromCluster)).toMatchObject({ problems: [], manifests: [{ kind: 'Directory' }] });
  expect(linesOf(`${WEB}data: {}\n`)).toEqual([
    'web.yaml:5: Directory acmery-system/web: data: there is no field "data" here',
  ]);
  expect(linesOf(WEB.replace('name: web', 'name: Web_1'))[0]).toMatch(/: metadata\.name: expected .* got "Web_1"$/);
  expect(linesOf(WEB.replace('}\nspec', ', annotations: {acmery.io/paused: true}}\nspec'))[0]).toMatch(
    /metadata\.annotations\["acmery.io\/paused"\]: expected a string, got true; put it in quotes/,
  );
});

test('other kinds are handed on', () => {
  const { foreign, manifests, problems } = read(`apiVersion: v1
kind: Secret
metadata: {name: old-root}
---
apiVersion: cert-manager.io/v1
kind: Issuer
---
apiVersion: acmery.io.example/v1
kind: Directory
`);
  expect([manifests, problems]).toEqual([[], []]);
  expect(foreign.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual([
    'v1 Secret',
    'cert-manager.io/v1 Issuer',
    'acmery.io.example/v1 Directory',
  ]);
  expect(foreign[0]?.value).toMatchObject({ metadata: { name: 'old-root' } });
});

test.each([
  ['just text', 'web.yaml:1: expected an object with apiVersion and kind'],
  ['[]', 'web.yaml:1: expected an object with apiVersion and kind'],
  ['kind: Secret', 'web.yaml:1: apiVersion: this field is required, as text'],
  ['apiVersion: v1\nkind: 3', 'web.yaml:2: kind: this field is required, as text'],
  [
    'apiVersion: acmery.io/v1beta1\nkind: Directory',
    'web.yaml:1: apiVersion: expected acmery.io/v1, got "acmery.io/v1beta1"',
  ],
  [
    'apiVersion: acmery.io/v1\nkind: AcmeKeys',
    'web.yaml:2: kind: acmery.io/v1 has no kind "AcmeKeys"; did you mean AcmeKey?',
  ],
  ['apiVersion: acmery.io/v1\nkind: Certificate', 'web.yaml:2: kind: acmery.io/v1 has no kind "Certificate"'],
  ['apiVersion: acmery.io/v1\nkind: __proto__', 'web.yaml:2: kind: acmery.io/v1 has no kind "__proto__"'],
])('%j is no manifest', (text, line) => {
  expect(linesOf(text)).toEqual([line]);
});

test('an object stands once, in whichever file', () => {
  const documents = [...parseYaml('a.yaml', WEB).documents, ...parseYaml('b.yaml', `---\n${WEB}`).documents];
  const { manifests, problems } = readManifests(documents, 'default');
  expect(manifests).toHaveLength(1);
  expect(problems.map(problemLine)).toEqual([
    'b.yaml:2: Directory acmery-system/web: this object is declared at a.yaml:1 already',
  ]);
});

test('a List holds others', () => {
  const item = WEB.replaceAll('\n', '\n    ').trimEnd();
  const text = `apiVersion: v1\nkind: List\nitems:\n  - ${item}\n  - ${item.replace('name: web', 'name: b').replace('{name: corp}', '7')}\n`;
  const { manifests, problems } = read(text);
  expect(manifests.map(({ metadata }) => metadata.name)).toEqual(['web']);
  expect(problems.map(problemLine)).toEqual([
    'web.yaml:11: Directory acmery-system/b: spec.signingCertRef: expected an object, got 7',
  ]);
});

test('a change of what was read does not change what is read next', () => {
  const { documents } = parseYaml('a.yaml', WEB);
  for (const { spec } of readManifests(documents, 'default').manifests) Object.assign(spec, { profiles: ['client'] });
  expect(readManifests(documents, 'default').manifests[0]?.spec).toMatchObject({ profiles: ['server'] });
});
