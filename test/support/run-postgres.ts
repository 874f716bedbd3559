// A program for launcher tests: runs Postgres in a data folder until SIGTERM, from whichever copy of the sources.
// Arguments: the folder of the launcher's sources, the data folder, and what binaries to look for.
// Prints one line of JSON: what runs, or why nothing does.
const [sources = '', dataDir = '', kind = 'system'] = process.argv.slice(2);
const { startPostgres } = await import(`${sources}/cluster.ts`);
const { usualPlaces } = await import(`${sources}/binaries.ts`);

const usual = await usualPlaces('');
const copies = [`${dataDir}.copies`];
const places = kind === 'system' ? { ...usual, embedded: undefined } : { ...usual, folders: [], copies };
try {
  const postgres = await startPostgres({ dataDir, places, settings: { fsync: 'off' } });
  process.once('SIGTERM', () => void postgres[Symbol.asyncDispose]());
  console.log(JSON.stringify({ url: postgres.url, version: postgres.version, source: postgres.source }));
} catch (error) {
  console.log(JSON.stringify({ error: error instanceof Error ? error.message : String(error) }));
}
