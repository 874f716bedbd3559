// `npm run verify`: everything that must hold before a commit, in under a minute. Ends with one line per check.
import { spawn } from 'node:child_process';

type Check = { readonly name: string; readonly command: readonly string[] };

const node = (script: string, ...args: string[]): readonly string[] => [process.execPath, script, ...args];
const bin = (name: string, ...args: string[]): readonly string[] => [`node_modules/.bin/${name}`, ...args];

const checks: readonly Check[] = [
  { name: 'format and lint', command: bin('biome', 'check', '--error-on-warnings', '.') },
  { name: 'promises', command: bin('oxlint', '--type-aware', '--deny-warnings', 'src', 'test', 'scripts') },
  { name: 'types', command: bin('tsc', '-p', '.') },
  { name: 'lockfile', command: node('scripts/lockfile.ts', '--check') },
  { name: 'generated files', command: node('src/generate.ts', '--check') },
  { name: 'unused files, exports and dependencies', command: bin('knip') },
  { name: 'unit tests', command: node('scripts/test.ts', '--project=unit', '--reporter=dot') },
];

// Two at a time: most checks use one core, and the tests use the rest.
const waiting = [...checks];
const outcomes = new Map<Check, number>();
await Promise.all([1, 2].map(runNext));

console.log('');
for (const check of checks) console.log(`${outcomes.get(check) === 0 ? 'ok    ' : 'FAILED'} ${check.name}`);
if (checks.some((check) => outcomes.get(check) !== 0)) process.exitCode = 1;

async function runNext(): Promise<void> {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
    const { exitCode, output } = await run(check.command);
    outcomes.set(check, exitCode);
    if (exitCode !== 0) console.log(`--- ${check.name}: ${check.command.join(' ')}\n${output}`);
  }
}

function run([program = '', ...args]: readonly string[]): Promise<{ exitCode: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, FORCE_COLOR: '0' },
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    child.on('error', (error) => resolve({ exitCode: 127, output: `${output}${error.message}\n` }));
    child.on('close', (exitCode) => resolve({ exitCode: exitCode ?? 1, output }));
  });
}
