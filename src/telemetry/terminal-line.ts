// One log record as one line for a person at a terminal: time, level, message, key=value.

const FRAMES_SHOWN = 5;

const colours: Readonly<Record<string, string>> = {
  debug: '\u001b[2m',
  info: '\u001b[32m',
  warn: '\u001b[33m',
  error: '\u001b[31m',
};
const faint = '\u001b[2m';
const plain = '\u001b[0m';

/** The line of a record that came as JSON; nothing in it can break the line or steer the terminal. */
export function terminalLine(json: string, colour: boolean): string {
  const { level, time, message, error, ...fields }: Record<string, unknown> = JSON.parse(json);
  const name = String(level);
  const paint = (code: string | undefined, text: string) => (colour && code ? `${code}${text}${plain}` : text);
  const details = [...Object.entries(fields), ...errorFields(error)].map(
    ([key, value]) => `${paint(faint, `${printable(key)}=`)}${shown(value)}`,
  );
  const head = [paint(faint, timeOfDay(time)), paint(colours[name], name.padEnd(5)), printable(String(message ?? ''))];
  return `${[...head, ...details].join(' ')}\n`;
}

// `2026-11-21T16:11:50.690Z` as `16:11:50.690Z`: a terminal is read today.
const timeOfDay = (time: unknown) => String(time).slice(11);

function errorFields(error: unknown): [string, unknown][] {
  if (typeof error !== 'object' || error === null) return error === undefined ? [] : [['error', error]];
  const { name, code, message, stack, cause }: Record<string, unknown> = { ...error };
  return [
    ['error', `${name}: ${message}`],
    ...(code === undefined ? [] : ([['code', code]] satisfies [string, unknown][])),
    ...(typeof stack === 'string' ? ([['at', ownFrames(stack)]] satisfies [string, unknown][]) : []),
    ...errorFields(cause).map(([key, value]): [string, unknown] => [key === 'error' ? 'cause' : `cause.${key}`, value]),
  ];
}

// The places in our own files, nearest first: the whole stack stands in the JSON form.
function ownFrames(stack: string): string {
  const frames = stack
    .split('\n')
    .filter((line) => /^\s+at .*:\d+:\d+\)?$/.test(line) && !/node:|node_modules/.test(line));
  return frames
    .slice(0, FRAMES_SHOWN)
    .map((frame) => frame.replace(/^\s+at (?:.*\()?(?:file:\/\/)?/, '').replace(/\)$/, ''))
    .join(' < ');
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === undefined) return 'undefined';
  const mustQuote = typeof value === 'string' && (/[\s"=]/.test(text) || text === '');
  return printable(mustQuote ? JSON.stringify(text) : text);
}

// Control characters steer a terminal; invisible ones and those that turn the direction make a name look like another.
const printable = (text: string) => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, escaped);

const escaped = (character: string) => {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
};
