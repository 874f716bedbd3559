// The command line: hands it to one command and sets the exit code (0 done, 1 failed, 2 wrong usage or settings).
import { setImmediate as logIsWritten } from 'node:timers/promises';
import { commandLine } from './commands/command-line.ts';

try {
  process.exitCode = await commandLine(process.argv.slice(2));
} catch (error) {
  const { failureLines } = await import('./commands/failures.ts');
  const failure = failureLines(error);
  // The reason comes last, below the lines that the log has in hand.
  await logIsWritten();
  for (const line of failure.lines) console.error(line);
  process.exitCode = failure.exitCode;
}
