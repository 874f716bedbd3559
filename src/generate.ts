// `npm run generate`: writes what is derived from the code. With `--check` it only says which files are out of date.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { crdTemplates } from './chart/crd-templates.ts';
import { dashboard } from './chart/dashboard.ts';
import { valuesSchema } from './chart/values-schema.ts';
import { crdFiles } from './commands/crd-files.ts';
import { settingNames, settings } from './config/settings.ts';
import { acmeKeyLifecycle } from './lifecycles/acme-key.ts';
import { authorizationLifecycle } from './lifecycles/authorization.ts';
import { challengeLifecycle } from './lifecycles/challenge.ts';
import { issuedCertLifecycle } from './lifecycles/issued-cert.ts';
import { toMermaid } from './lifecycles/lifecycle.ts';
import { orderLifecycle } from './lifecycles/order.ts';
import { signingCertLifecycle } from './lifecycles/signing-cert.ts';
import type { ResourceKind } from './resources/kind.ts';
import { kinds } from './resources/kinds.ts';

/** A part of a file between `<!-- generated: NAME -->` and `<!-- end generated -->`. */
type Section = { readonly file: string; readonly name: string; readonly content: () => string };

const diagrams = {
  'signing cert': () => toMermaid(signingCertLifecycle),
  order: () => toMermaid(orderLifecycle),
  authorization: () => toMermaid(authorizationLifecycle),
  challenge: () => toMermaid(challengeLifecycle),
  'account key': () => toMermaid(acmeKeyLifecycle),
  'issued cert': () => toMermaid(issuedCertLifecycle),
};

const sections: readonly Section[] = [
  { file: 'README.md', name: 'settings', content: settingsTable },
  { file: 'docs/lifecycles.md', name: 'lifecycles', content: lifecycleDiagrams },
  { file: 'docs/custom-resources.md', name: 'fields', content: fieldTables },
];

const chart = 'charts/acmery';
const isCheck = process.argv.includes('--check');
const sectionFiles = [...new Set(sections.map(({ file }) => file))];
/** What each file should hold, given what it holds. */
const contents: Readonly<Record<string, (before: string) => string>> = {
  ...Object.fromEntries(sectionFiles.map((file) => [file, withSectionsOf(file)])),
  ...Object.fromEntries(crdFiles().map(({ name, text }) => [`crds/${name}`, () => text])),
  ...Object.fromEntries(crdTemplates().map(({ name, text }) => [`${chart}/templates/${name}`, () => text])),
  [`${chart}/values.schema.json`]: () => json(valuesSchema()),
  [`${chart}/files/dashboard.json`]: () => json(dashboard()),
};
const strangers = [
  ...readdirSync('crds').map((name) => `crds/${name}`),
  ...readdirSync(`${chart}/templates`)
    .filter((name) => name.startsWith('crd-'))
    .map((name) => `${chart}/templates/${name}`),
].filter((file) => contents[file] === undefined);
const stale = Object.entries(contents).filter(([file, content]) => {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const after = content(before);
  if (after !== before && !isCheck) writeFileSync(file, after);
  return after !== before;
});
for (const [file] of stale) console.log(isCheck ? `${file} is out of date: run npm run generate` : `${file} written`);
for (const file of strangers) console.log(`${file} is of no kind: remove it`);
if (strangers.length > 0 || (isCheck && stale.length > 0)) process.exitCode = 1;

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function withSectionsOf(file: string): (before: string) => string {
  return (before) => sections.filter((section) => section.file === file).reduce(withSection, before);
}

function withSection(text: string, { file, name, content }: Section): string {
  const begin = `<!-- generated: ${name} -->\n`;
  const end = '<!-- end generated -->';
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`${file} has no generated section "${name}"`);
  return text.slice(0, from) + begin + content() + text.slice(to);
}

function settingsTable(): string {
  const rows = settingNames.map((name) => {
    const { env, fallbackText, about } = settings[name];
    return `| \`${env}\` | ${fallbackText} | ${about} |\n`;
  });
  return `| setting | default | meaning |\n|---|---|---|\n${rows.join('')}`;
}

function lifecycleDiagrams(): string {
  const parts = Object.entries(diagrams).map(([name, diagram]) => `## ${name}\n\n\`\`\`mermaid\n${diagram()}\`\`\`\n`);
  return `\n${parts.join('\n')}\n`;
}

function fieldTables(): string {
  return `\n${Object.values(kinds).map(fieldTable).join('\n')}\n`;
}

function fieldTable({ kind, description, spec, status }: ResourceKind): string {
  const rows = Object.entries(spec).map(([name, { schema, presence, use }]) => {
    const { default: usual, description: about } = schema as { default?: unknown; description?: string };
    const left = presence === 'required' ? 'required' : usual === undefined ? '' : `\`${JSON.stringify(usual)}\``;
    return `| \`${name}\` | ${left} | ${use === 'create_only' ? 'no' : 'yes'} | ${cell(about)} |\n`;
  });
  const { properties = {} } = status as { properties?: Readonly<Record<string, { description?: string }>> };
  const shown = Object.entries(properties).map(
    ([name, { description: about }]) => `| \`${name}\` | ${cell(about)} |\n`,
  );
  const specTable = `| spec | default | may change | meaning |\n|---|---|---|---|\n${rows.join('')}`;
  return `## ${kind}\n\n${description}\n\n${specTable}\n| status | meaning |\n|---|---|\n${shown.join('')}`;
}

function cell(text = ''): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
