// The log: explicit fields and one sentence per line, JSON for machines or short text for a terminal, without secrets.
import { isatty } from 'node:tty';
import { type Logger, pino } from 'pino';
import { redactedFields, withoutSecrets } from './redact.ts';
import { terminalLine } from './terminal-line.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
type LogFields = Readonly<Record<string, unknown>>;

type LogMethod = {
  (message: string): void;
  (fields: LogFields, message: string): void;
};

export type Log = Readonly<Record<LogLevel, LogMethod>> & {
  /** A log whose lines all carry these fields. */
  child(fields: LogFields): Log;
};

/** Where lines go: each is whole and ends with a newline. */
type LogDestination = { write(line: string): void };

export type LogOptions = {
  readonly level: LogLevel | 'silent';
  readonly format: 'json' | 'text';
  /** Standard error when absent, so that standard output stays free for what a command prints. */
  readonly destination?: LogDestination;
  /** Colour in the text form; when absent, only where standard error is a terminal. */
  readonly colour?: boolean;
};

const STANDARD_ERROR = 2;

/** An error belongs in the field `error`: it is written with name, code, message, stack and causes, and nothing else. */
export function createLog(options: LogOptions): Log {
  const destination = options.destination ?? linesTogether(pino.destination({ fd: STANDARD_ERROR, sync: true }));
  const colour = options.colour ?? (options.destination === undefined && isatty(STANDARD_ERROR));
  const asText: LogDestination = { write: (json) => destination.write(terminalLine(json, colour)) };
  const logger = pino(
    {
      level: options.level,
      base: null,
      messageKey: 'message',
      errorKey: 'error',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Errors are described before pino sees them; its own serializer would tell their causes twice.
      serializers: { error: (described: unknown) => described },
      hooks: {
        logMethod(args, method) {
          method.apply(this, redactedArguments(args));
        },
      },
    },
    options.format === 'text' ? asText : destination,
  );
  return logOf(logger);
}

/** What one turn of the event loop logs is written at once: a write for each line would cost more than the line. */
function linesTogether(destination: LogDestination): LogDestination {
  let lines = '';
  const flush = (): void => {
    const written = lines;
    lines = '';
    if (written !== '') destination.write(written);
  };
  process.on('exit', flush);
  return {
    write(line) {
      if (lines === '') setImmediate(flush);
      lines += line;
    },
  };
}

const logOf = (logger: Logger): Log => ({
  debug: logger.debug.bind(logger),
  info: logger.info.bind(logger),
  warn: logger.warn.bind(logger),
  error: logger.error.bind(logger),
  child: (fields) => logOf(logger.child(redactedFields(fields))),
});

// Every line comes by here (fields of a child are redacted once, above), whether it was written as (fields, message) or as (message).
function redactedArguments([first, second]: readonly unknown[]): [fields: object, message: string] {
  if (typeof first === 'string') return [{}, withoutSecrets(first)];
  return [redactedFields(Object(first)), withoutSecrets(String(second))];
}
