// `npm run bench`: measures on this machine and prints what was measured, with the goal or the peer beside it.
// `npm run bench -- start` runs one of them; `--quick` and `--servers=a,b` are for `acme`. Nothing here is a test: no figure
// makes it fail.
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { benchAcme } from './acme.ts';
import { benchApi } from './api.ts';
import { benchCrl } from './crl.ts';
import type { BenchOptions, Figure } from './figure.ts';
import { benchInstall } from './install.ts';
import { benchOcsp } from './ocsp.ts';
import { benchOperator } from './operator.ts';
import { benchPackage } from './package.ts';
import { benchStart } from './start.ts';

const benches: Readonly<Record<string, (options: BenchOptions) => Promise<readonly Figure[]>>> = {
  start: benchStart,
  package: benchPackage,
  api: benchApi,
  acme: benchAcme,
  crl: benchCrl,
  ocsp: benchOcsp,
  operator: benchOperator,
  install: benchInstall,
};

const { positionals: wanted, values } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, servers: { type: 'string', default: '' } },
});
const options = { quick: values.quick, servers: values.servers.split(',').filter((name) => name !== '') };
const unknown = wanted.filter((name) => benches[name] === undefined);
if (unknown.length > 0) {
  console.error(`No such benchmark: ${unknown.join(', ')}. There are: ${Object.keys(benches).join(', ')}.`);
  process.exitCode = 2;
} else {
  const [cpu] = cpus();
  console.log(
    `${cpus().length} cores (${cpu?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`,
  );
  for (const [name, bench] of Object.entries(benches)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    console.log(`\n${name}`);
    for (const { what, measured, goal } of await bench(options)) {
      console.log(`  ${what.padEnd(58)} ${measured.padEnd(34)} ${goal}`);
    }
  }
}
