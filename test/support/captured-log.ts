// A log that keeps its lines, for tests that look at what was written.
import { createLog, type LogOptions } from '../../src/telemetry/log.ts';

export function capturedLog(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog({ level: 'debug', format: 'json', destination, ...options });
  return {
    log,
    lines,
    text: () => lines.join(''),
    records: () => lines.map((line): Record<string, unknown> => JSON.parse(line)),
  };
}
