// The database: whether it answers, whether its schema fits this release, whether its clock agrees with ours.
import { ClockWatch } from '../../core/clock-watch.ts';
import { SchemaTooNew, schemaStatus } from '../../store/migrate.ts';
import { type Finding, failed, ok, type Patient } from './finding.ts';

const OLDEST_MAJOR = 14;

export async function checkDatabase(patient: Patient): Promise<Finding> {
  const { database } = await patient.keyless();
  const version = await database.serverVersion();
  const detail = `Postgres ${version} at ${database.address}`;
  if (Number.parseInt(version, 10) >= OLDEST_MAJOR) return ok(detail);
  return failed(detail, `Postgres ${OLDEST_MAJOR} or newer is needed.`);
}

export async function checkSchema(patient: Patient): Promise<Finding> {
  const { database } = await patient.keyless();
  const { current, expected, pending, tooNew } = await schemaStatus(database.db);
  if (tooNew) throw new SchemaTooNew(current ?? 'unknown', expected ?? 'none');
  if (pending.length === 0) return ok(`up to date (${current})`);
  return ok(`${pending.length} migrations are to be applied; serve and migrate do it`);
}

export async function checkClock(patient: Patient): Promise<Finding> {
  const clocks = new ClockWatch(await patient.keyless());
  const skewMs = await clocks.compare();
  await clocks.check();
  return ok(`${Math.abs(skewMs)} ms apart from the database's`);
}
