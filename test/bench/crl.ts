// A CRL of 100,000 entries and one of a million: what a build costs the event loop, how soon a revocation is served, what
// the call that revokes takes; and the same list by `openssl ca -gencrl`.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { usualPlaces } from '../../src/postgres/binaries.ts';
import { startPostgres } from '../../src/postgres/cluster.ts';
import { openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import type { CrlFigures } from './crl/figures.ts';
import { type BenchOptions, type Figure, spread } from './figure.ts';

const run = promisify(execFile);
const RUN = join(import.meta.dirname, 'crl', 'run.ts');
const MANY = 100_000;
const MOST = 1_000_000;
const OPENSSL_RUNS = 3;

export async function benchCrl({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const many = await figuresFor(MANY);
  const most = quick ? undefined : await figuresFor(MOST);
  return [
    ...figuresOf('100,000 entries', many, ['goal 60 ms', 'goal 1 s', 'goal 25 ms', '']),
    ...(most === undefined ? [] : figuresOf('1,000,000 entries', most, ['', '', 'goal 25 ms', 'goal 1,024 MB'])),
    await gencrl(),
  ];
}

function figuresOf(what: string, figures: CrlFigures, goals: readonly string[]): readonly Figure[] {
  const { builds, bytes, revokeMs, servedMs, mostMemoryMb } = figures;
  const [loop = '', served = '', revoke = '', memory = ''] = goals;
  const ms = (values: readonly number[]) => spread(values, 'ms', 1);
  return [
    {
      what: `${what}: event loop of a build, processor time`,
      measured: ms(builds.map(({ cpuMs }) => cpuMs)),
      goal: loop,
    },
    { what: `${what}: the same with waits for a core`, measured: ms(builds.map(({ activeMs }) => activeMs)), goal: '' },
    { what: `${what}: its longest turn`, measured: ms(builds.map(({ longestMs }) => longestMs)), goal: '' },
    { what: `${what}: build to publication`, measured: ms(builds.map(({ wallMs }) => wallMs)), goal: '' },
    { what: `${what}: from revocation to being served`, measured: ms(servedMs), goal: served },
    { what: `${what}: the call that revokes`, measured: ms(revokeMs), goal: revoke },
    {
      what: `${what}: most memory of the process`,
      measured: `${mostMemoryMb.toFixed(0)} MB, CRL ${(bytes / 1e6).toFixed(1)} MB`,
      goal: memory,
    },
  ];
}

async function figuresFor(count: number): Promise<CrlFigures> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'acmery-bench-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const places = await usualPlaces(process.env.PATH ?? '');
  const postgres = opened.use(await startPostgres({ dataDir: join(folder, 'database'), places }));
  {
    await using database = openDatabase({ url: postgres.url });
    await migrate(database.db);
  }
  const { stdout } = await run(process.execPath, [RUN, postgres.url, join(folder, 'keys'), String(count)]);
  return JSON.parse(stdout);
}

async function gencrl(): Promise<Figure> {
  const what = `openssl ca -gencrl, ${MANY.toLocaleString('en')} entries`;
  const folder = await mkdtemp(join(tmpdir(), 'acmery-bench-'));
  try {
    const config = `[ca]\ndefault_ca=d\n[d]\ndatabase=${folder}/index.txt\ncrlnumber=${folder}/number\ndefault_md=sha256\ndefault_crl_days=7\n`;
    const line = () =>
      `R\t300101000000Z\t260101000000Z,keyCompromise\t01${randomBytes(15).toString('hex').toUpperCase()}\tunknown\t/CN=x\n`;
    await writeFile(join(folder, 'index.txt'), Array.from({ length: MANY }, line).join(''));
    await writeFile(join(folder, 'number'), '01\n');
    await writeFile(join(folder, 'ca.cnf'), config);
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    await run('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, '-subj', '/CN=Bench']);
    const seconds: number[] = [];
    for (let count = 0; count < OPENSSL_RUNS; count++) {
      const begun = performance.now();
      const out = ['-gencrl', '-keyfile', key, '-cert', cert, '-out', join(folder, 'crl.pem')];
      await run('openssl', ['ca', '-config', join(folder, 'ca.cnf'), ...out]);
      seconds.push((performance.now() - begun) / 1000);
    }
    return { what, measured: spread(seconds, 's'), goal: 'peer' };
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ENOENT') throw error;
    return { what, measured: '-', goal: 'there is no openssl here' };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
