// Settings from a YAML file, the environment and flags, in rising order of precedence. The only reader of the environment.
import { readFileSync } from 'node:fs';
import { load as parseYaml } from 'js-yaml';
import { flagOf, type Setting, type SettingName, type Settings, settingNames, settings } from './settings.ts';

/** Everything that is wrong with the settings, one line each. */
export class SettingsError extends Error {
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join('\n'));
    this.name = 'SettingsError';
    this.lines = lines;
  }
}

export type SettingSources = {
  /** By flag (`data-dir`), as the command line gave them; `config` names the YAML file. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** A text and where it came from, as the reader would name it. */
type Given = { readonly text: string; readonly from: string };

// Kubernetes puts the addresses of a Service called acmery into every container of its namespace.
const KUBERNETES_SERVICE_VARIABLE =
  /^ACMERY(_[A-Z0-9_]+)?_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)$/;
const CONFIG_VARIABLE = 'ACMERY_CONFIG';

/** Throws SettingsError with a line for every unknown or unacceptable setting. */
export function loadSettings(sources: SettingSources): Settings {
  const problems: string[] = [];
  const given = new Map<SettingName, Given>();
  const configFile = sources.flags.config ?? nonEmpty(sources.env[CONFIG_VARIABLE]);
  if (configFile !== undefined) takeFile(configFile, given, problems);
  takeEnvironment(sources.env, given, problems);
  for (const name of settingNames) {
    const flag = sources.flags[flagOf(name)];
    const from = `--${flagOf(name)}`;
    if (flag !== undefined && settings[name].isSecret) takeSecretFile(name, flag, from, given, problems);
    else if (flag !== undefined) given.set(name, { text: flag, from });
  }
  const values = Object.fromEntries(
    settingNames.map((name) => [name, read(settings[name], given.get(name), problems)]),
  );
  if (problems.length > 0) throw new SettingsError(problems);
  const loaded = values as unknown as Settings;
  const mismatch = firstMismatch(loaded);
  if (mismatch !== undefined) throw new SettingsError([mismatch]);
  return { ...loaded, ...urlsOfListeners(loaded, given) };
}

export const processEnvironment = (): SettingSources['env'] => process.env;

function read(setting: Setting<unknown>, given: Given | undefined, problems: string[]): unknown {
  const text = given?.text ?? setting.fallback;
  if (text === undefined) return undefined;
  const value = setting.kind.parse(text);
  if (value === undefined) {
    const got = setting.isSecret || setting.kind.mayHoldSecret ? `${text.length} characters` : shown(text);
    problems.push(`${given?.from ?? setting.env}: expected ${setting.kind.accepts}, got ${got}.`);
  }
  return value;
}

function takeEnvironment(env: SettingSources['env'], given: Map<SettingName, Given>, problems: string[]): void {
  const byVariable = new Map<string, SettingName>(settingNames.map((name) => [settings[name].env, name]));
  for (const [variable, text] of Object.entries(env)) {
    if (text === undefined) continue;
    const name = byVariable.get(variable);
    const ofFile = byVariable.get(variable.replace(/_FILE$/, ''));
    if (name === undefined && ofFile !== undefined && settings[ofFile].isSecret) {
      if (text !== '') takeSecretFile(ofFile, text, variable, given, problems);
      continue;
    }
    // An empty variable is how shells and Kubernetes manifests say "not set".
    if (name !== undefined && text !== '') given.set(name, { text, from: variable });
    const isOurs = variable.startsWith('ACMERY_') && variable !== CONFIG_VARIABLE;
    if (name === undefined && isOurs && !KUBERNETES_SERVICE_VARIABLE.test(variable)) {
      problems.push(`${variable}: there is no such setting${suggestion(variable, [...byVariable.keys()])}.`);
    }
  }
}

function takeSecretFile(
  name: SettingName,
  file: string,
  from: string,
  given: Map<SettingName, Given>,
  problems: string[],
): void {
  try {
    given.set(name, { text: readFileSync(file, 'utf8').trim(), from });
  } catch (error) {
    problems.push(`${from}: ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function takeFile(file: string, given: Map<SettingName, Given>, problems: string[]): void {
  const content = readConfigFile(file, problems);
  if (content === undefined) return;
  for (const [key, value] of Object.entries(content)) {
    const name = settingNames.find((candidate) => candidate === key);
    const text = fileText(value);
    const from = `${file}: ${key}`;
    if (name === undefined) problems.push(`${from}: there is no such setting${suggestion(key, settingNames)}.`);
    else if (text === undefined) problems.push(`${from}: expected ${settings[name].kind.accepts}, got a nested value.`);
    // `dataDir:` without a value says "not set", as an empty variable does.
    else if (text !== '') given.set(name, { text, from });
  }
}

function readConfigFile(file: string, problems: string[]): Record<string, unknown> | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    // The parser takes a file without a document for an error.
    const content: unknown = isBlank(text) ? {} : (parseYaml(text) ?? {});
    if (typeof content === 'object' && !Array.isArray(content)) return content as Record<string, unknown>;
    problems.push(`${file}: expected a YAML mapping of settings, such as "dataDir: /var/lib/acmery".`);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    problems.push(`${file}: cannot be read as YAML settings: ${reason}`);
  }
  return undefined;
}

const isBlank = (yaml: string): boolean => yaml.split('\n').every((line) => /^\s*(#.*)?$/.test(line));

/** Scalars and lists of scalars as the text that a variable would hold. */
function fileText(value: unknown): string | undefined {
  if (value === null) return '';
  if (Array.isArray(value)) {
    const entries = value.map(fileText);
    return entries.every((entry) => entry !== undefined) ? entries.join(',') : undefined;
  }
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}

/** URLs that nobody gave lead to where the listeners are. A port that the system chooses is not known yet. */
function urlsOfListeners(loaded: Settings, given: ReadonlyMap<SettingName, Given>): Partial<Settings> {
  const urls = (['publicUrl', 'httpUrl'] as const).flatMap((name) => {
    const { portOf } = settings[name];
    const port = portOf === undefined ? 0 : loaded[portOf].port;
    return given.has(name) || port === 0 ? [] : [[name, withPort(loaded[name], port)]];
  });
  return Object.fromEntries(urls);
}

function withPort(text: string, port: number): string {
  const url = new URL(text);
  url.port = String(port);
  return url.origin;
}

function firstMismatch({ tlsCertFile, tlsKeyFile }: Settings): string | undefined {
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    return 'ACMERY_TLS_CERT_FILE and ACMERY_TLS_KEY_FILE: expected both or neither, got only one of them.';
  }
  return undefined;
}

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

// A password in a refused URL stays out of terminals and logs.
const shown = (text: string): string => JSON.stringify(text.replace(/:\/\/[^@/\s]*@/, '://***@').slice(0, 100));

function suggestion(wrong: string, known: readonly string[]): string {
  const nearest = known
    .map((name) => ({ name, distance: editDistance(wrong.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return nearest !== undefined && nearest.distance <= 3
    ? ` (did you mean ${nearest.name}?)`
    : '; `acmery serve --help` lists them';
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
