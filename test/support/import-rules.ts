// Who may import whom in src/, and which words may stand only where: the rule of the tree as a table, and its reader.

export type SourceFile = { readonly path: string; readonly text: string };

/** What a folder may import besides itself and `node:`; `types:x` allows `import type` from x only. */
export const importRules: Readonly<Record<string, readonly string[]>> = {
  'program.ts': [],
  lifecycles: [],
  schema: ['ajv', 'ajv-formats', 'typebox'],
  x509: [],
  telemetry: ['pino', 'prom-client'],
  html: [],
  postgres: ['types:telemetry'],
  config: ['js-yaml'],
  resources: ['schema', 'lifecycles'],
  store: ['program.ts', 'lifecycles', 'telemetry', 'types:resources', 'kysely', 'pg'],
  core: ['store', 'x509', 'lifecycles', 'resources', 'schema', 'telemetry'],
  prober: ['core/ports.ts', 'core/errors.ts', 'core/own-signal.ts', 'x509', 'telemetry'],
  keys: ['core/ports.ts', 'core/errors.ts', 'x509', 'telemetry'],
  kubernetes: [
    'core/ports.ts',
    // Its key store refuses in the words of that port, and reads keys as every key store does.
    'core/errors.ts',
    'keys/opened-key.ts',
    'keys/seal.ts',
    'x509',
    // Bounded memory for what tokens were found to be.
    'core/recent.ts',
    'operator/ports.ts',
    'api/ports.ts',
    'resources',
    'telemetry',
    // Kubeconfigs.
    'js-yaml',
    'undici',
  ],
  folder: ['core/ports.ts', 'operator/ports.ts', 'api/ports.ts', 'resources', 'telemetry', 'js-yaml'],
  http: ['schema', 'telemetry', 'express'],
  acme: ['types:http', 'core', 'schema', 'resources', 'lifecycles', 'telemetry'],
  api: ['types:http', 'html', 'core', 'schema', 'resources', 'lifecycles', 'telemetry'],
  publish: ['types:http', 'core', 'schema', 'resources', 'lifecycles', 'telemetry'],
  ui: ['types:http', 'html', 'core', 'schema', 'resources', 'lifecycles'],
  operator: ['core', 'resources', 'telemetry'],
  worker: ['core', 'telemetry'],
};

/** Where the parts meet: these import everything, and hold no decisions. */
export const composition = ['main.ts', 'app', 'generate.ts', 'version.ts', 'commands', 'chart'];
const compositionPackages = ['commander'];

type WordRule = { readonly word: RegExp; readonly allowed: (path: string) => boolean; readonly why: string };

const within =
  (...places: readonly string[]) =>
  (path: string) =>
    places.some((place) => path === place || path.startsWith(`${place}/`));
const outside =
  (...places: readonly string[]) =>
  (path: string) =>
    !within(...places)(path);

const wordRules: readonly WordRule[] = [
  { word: /process\.env/, allowed: within('config/load.ts'), why: 'the environment is read in config/load.ts only' },
  {
    word: /process\.exit\(|process\.exitCode/,
    allowed: within('main.ts', 'generate.ts'),
    why: 'exit codes are set in main.ts only',
  },
  {
    word: /Date\.now\(|new Date\(\)|Math\.random\(|performance\.now\(/,
    allowed: outside('core', 'operator', 'lifecycles', 'resources'),
    why: 'time and randomness are arguments here',
  },
  { word: /\bsql(<[^`]*>)?`/, allowed: within('store'), why: 'SQL stands in store/ only' },
  { word: /\bconsole\./, allowed: within('commands', 'main.ts', 'generate.ts'), why: 'only commands print' },
];

/** Every breach of the two tables, as `path:line: sentence`. */
export function violationsOf(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => [...importViolations(file), ...wordViolations(file)]);
}

function importViolations(file: SourceFile): string[] {
  const folder = placeOf(file.path);
  if (composition.includes(folder)) return [];
  const allowed = importRules[folder];
  if (allowed === undefined) return [`${file.path}:1: folder ${folder} stands in no import rule`];
  return importsOf(file).flatMap(({ target, isType, line }) =>
    target.startsWith('node:') || isAllowed(target, isType, folder, allowed)
      ? []
      : [`${file.path}:${line}: ${folder} may not import ${isType ? 'types of ' : ''}${target}`],
  );
}

function isAllowed(target: string, isType: boolean, folder: string, allowed: readonly string[]): boolean {
  if (!target.startsWith('src/')) return allowed.includes(target);
  const inner = target.slice('src/'.length);
  const place = placeOf(inner);
  return (
    place === folder ||
    allowed.includes(place) ||
    allowed.includes(inner) ||
    (isType && allowed.includes(`types:${place}`))
  );
}

type Import = { readonly target: string; readonly isType: boolean; readonly line: number };

const IMPORT =
  /(?:^|\n)[ \t]*(?:import|export)\s+(?<type>type\s)?(?:[^'";]*?\sfrom\s+)?'(?<from>[^']+)'|\bimport\('(?<dynamic>[^']+)'\)/g;

function importsOf(file: SourceFile): Import[] {
  return [...file.text.matchAll(IMPORT)].map((match) => {
    const specifier = match.groups?.from ?? match.groups?.dynamic ?? '';
    const start = match.index + (match[0].startsWith('\n') ? 1 : 0);
    return {
      target: specifier.startsWith('.') ? resolveRelative(file.path, specifier) : packageOf(specifier),
      isType: match.groups?.type !== undefined,
      line: file.text.slice(0, start).split('\n').length,
    };
  });
}

const packageOf = (specifier: string): string =>
  specifier.startsWith('node:')
    ? specifier
    : specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/');

const resolveRelative = (from: string, specifier: string): string =>
  new URL(specifier, `file:///src/${from}`).pathname.slice(1);

/** The folder of a file below src/, or the file itself where it lies in src/. */
const placeOf = (path: string): string => path.split('/')[0] ?? path;

function wordViolations(file: SourceFile): string[] {
  return file.text
    .split('\n')
    .flatMap((text, index) =>
      wordRules
        .filter(({ word, allowed }) => word.test(text) && !allowed(file.path))
        .map(({ word, why }) => `${file.path}:${index + 1}: ${word.exec(text)?.[0]}: ${why}`),
    );
}

/** Packages that composition files import and no folder owns. */
export const packagesInRules = (): readonly string[] => [
  ...compositionPackages,
  ...Object.values(importRules)
    .flat()
    .filter((entry) => !entry.startsWith('types:') && importRules[placeOf(entry)] === undefined),
];
