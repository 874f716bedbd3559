// `npm test`: runs every test that this machine can run and ends with one line `N passed, N failed, N skipped`.
// Arguments are file filters, or options of vitest: `npm test -- test/unit/core`, `npm test -- --project=unit`.
import { parseCLI, startVitest, type TestCase, type TestModule, type Vitest } from 'vitest/node';

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
// Coverage of a part of the tests says nothing.
const isWholeRun = filter.length === 0 && options.project === undefined;
const vitest = await startVitest('test', filter, {
  ...options,
  watch: false,
  coverage: { enabled: isWholeRun, ...options.coverage },
});
const summary = summaryOf(vitest);
await vitest.close();

console.log('');
for (const skip of summary.skips) console.log(`skipped: ${skip}`);
console.log(`${summary.passed} passed, ${summary.failed} failed, ${summary.skipped} skipped`);
// A file that cannot be loaded, or an error outside any test, counts as failed: there is no green run with either.
if (summary.failed > 0 || summary.passed === 0) process.exitCode = 1;

type Summary = { passed: number; failed: number; skipped: number; skips: string[] };

function summaryOf({ state }: Vitest): Summary {
  const modules = state.getTestModules();
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const inState = (wanted: ReturnType<TestCase['result']>['state']): TestCase[] =>
    tests.filter((test) => test.result().state === wanted);
  const brokenModules = modules.filter((module) => module.errors().length > 0);
  return {
    passed: inState('passed').length,
    failed:
      inState('failed').length + inState('pending').length + brokenModules.length + state.getUnhandledErrors().length,
    skipped: inState('skipped').length,
    skips: modules.flatMap(skipsOf),
  };
}

/** One line for each test, or one for a file of which all tests are skipped for the same reason. */
function skipsOf(module: TestModule): string[] {
  const tests = [...module.children.allTests()];
  const skipped = tests.filter((test) => test.result().state === 'skipped');
  const [reason, ...others] = new Set(skipped.map(reasonOf));
  const isWhole = skipped.length === tests.length && others.length === 0;
  if (isWhole && reason !== undefined) return [`${shortPath(module)} (${tests.length}): ${reason}`];
  return skipped.map((test) => `${nameOf(test)}: ${reasonOf(test)}`);
}

function reasonOf(test: TestCase): string {
  const result = test.result();
  return result.state === 'skipped' && result.note !== undefined ? result.note : 'no reason given';
}

function nameOf(test: TestCase): string {
  return `${shortPath(test.module)} > ${test.fullName}`;
}

function shortPath(module: TestModule): string {
  return module.moduleId.slice(process.cwd().length + 1);
}
