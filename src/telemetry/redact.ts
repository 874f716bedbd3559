// What a log line may hold: fields without secrets, errors without what hangs on them, bytes as a count.

const REDACTED = '[redacted]';
const DEEPEST = 5;
const LONGEST_LIST = 50;

// Compared with a field's name in lower case without `_` and `-`; a name that ends in one of these holds a secret.
const secretNameEndings = [
  'authorization',
  'cookie',
  'token',
  'tokens',
  'secret',
  'secrets',
  'password',
  'passphrase',
  'privatekey',
  'mackey',
  'wrapkey',
  'apikey',
  'hmac',
  'pkcs8',
  'pkcs12',
  'pfx',
];

// Private members of a JWK (RFC 7518 section 6), secret only beside `kty`.
const secretJwkMembers = new Set(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']);

// Secrets that stand inside a longer text: a message, a URL, the text of an error. Each takes time by the length of the
// text, whatever a stranger wrote into it: what repeats ends where the next match could begin.
const secretTexts: readonly (readonly [RegExp, string])[] = [
  [
    /-----BEGIN [A-Z0-9 ]*(?:PRIVATE|SEALING) KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*(?:PRIVATE|SEALING) KEY-----|$)/g,
    REDACTED,
  ],
  [/acmery_[\w-]{43}/g, REDACTED],
  // Tokens of ServiceAccounts and whatever else is a JWT.
  [/(?<![\w-])eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/g, REDACTED],
  [/\b(Bearer|Basic)\s+[\w.~+/-]{16,}=*/gi, `$1 ${REDACTED}`],
  [/(password|passwd|token|secret|mac_key|hmac)=[^\s&"']+/gi, `$1=${REDACTED}`],
];

/** What every one of them holds: almost all text passes by this alone. */
const HINT_OF_SECRET = /-----BEGIN|acmery_|eyJ|bearer|basic|=|:\/\//i;

/** The text with every secret of a known form replaced. */
export const withoutSecrets = (text: string): string =>
  HINT_OF_SECRET.test(text)
    ? secretTexts.reduce(
        (rest, [pattern, replacement]) => rest.replace(pattern, replacement),
        withoutUrlPasswords(text),
      )
    : text;

const withoutUrlPasswords = (text: string): string =>
  text.includes('://') ? text.replace(/[^\s"']+/g, withoutPassword) : text;

// Up to the last `@`: a password may hold `@` and `/` where the URL is not well-formed.
function withoutPassword(word: string): string {
  const end = word.lastIndexOf('@') + 1;
  return word.slice(0, end).replace(/:\/\/([^:/?#@]*):.*@$/s, `://$1:${REDACTED}@`) + word.slice(end);
}

/** The fields as they may be written: secrets replaced by name and by form at any depth. */
export const redactedFields = (fields: object): Record<string, unknown> => redactedObject(fields, 0);

function redactedObject(object: object, depth: number): Record<string, unknown> {
  const isJwk = 'kty' in object;
  const kept: Record<string, unknown> = {};
  const members: Readonly<Record<string, unknown>> = Object(object);
  for (const name of Object.keys(object)) {
    const value = members[name];
    const isSecret = isSecretName(name) || (isJwk && secretJwkMembers.has(name));
    kept[name] = isSecret && value !== undefined && value !== null ? REDACTED : redactedValue(value, depth + 1);
  }
  return kept;
}

function redactedValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return withoutSecrets(value);
  if (typeof value === 'bigint') return value.toString();
  // A function has no place in JSON, and one called toJSON would be called.
  if (typeof value === 'function') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return describedError(value, depth);
  if (value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (depth > DEEPEST) return '[deeper]';
  if (Array.isArray(value)) return value.slice(0, LONGEST_LIST).map((item) => redactedValue(item, depth + 1));
  return redactedObject(value, depth);
}

// Only these members: errors of database drivers carry a client, those of HTTP clients a request with its headers.
function describedError(error: Error, depth: number): Record<string, unknown> {
  return {
    name: error.name,
    ...('code' in error && isPlain(error.code) ? { code: error.code } : {}),
    message: withoutSecrets(error.message),
    ...(error.stack === undefined ? {} : { stack: withoutSecrets(error.stack) }),
    ...(error.cause === undefined || depth > DEEPEST ? {} : { cause: redactedValue(error.cause, depth + 1) }),
    ...(error instanceof AggregateError && depth <= DEEPEST
      ? { errors: error.errors.slice(0, LONGEST_LIST).map((inner: unknown) => redactedValue(inner, depth + 1)) }
      : {}),
  };
}

const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number';

/** Almost all names stand in the program, so they are few; those of others are judged each time. */
const MOST_NAMES = 1_000;
const judgedNames = new Map<string, boolean>();

function isSecretName(name: string): boolean {
  const known = judgedNames.get(name);
  if (known !== undefined) return known;
  const bare = name.toLowerCase().replace(/[-_]/g, '');
  const isSecret = secretNameEndings.some((ending) => bare.endsWith(ending));
  if (judgedNames.size < MOST_NAMES) judgedNames.set(name, isSecret);
  return isSecret;
}
