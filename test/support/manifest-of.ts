// A spec as a manifest, and what our own check says of it.

import { kinds } from '../../src/resources/kinds.ts';
import { readManifests } from '../../src/resources/manifests.ts';
import { API_VERSION, type KindName } from '../../src/resources/resource.ts';
import { brokenRules } from '../../src/resources/rules.ts';

export const manifestOf = (kind: KindName, spec: unknown, name = 'it', namespace = 'here') => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name, namespace },
  ...(spec === undefined ? {} : { spec }),
});

const read = (kind: KindName, spec: unknown) =>
  readManifests([{ file: 'it.yaml', value: manifestOf(kind, spec), places: [] }], 'here');

/** The fields at fault. */
export const refusedFields = (kind: KindName, spec: unknown): readonly (string | undefined)[] =>
  read(kind, spec).problems.map(({ field }) => field);

/** With its defaults. Throws where it is refused. */
export function acceptedSpec(kind: KindName, spec: unknown): object {
  const [manifest] = read(kind, spec).manifests;
  if (manifest === undefined) throw new Error(`${kind} is refused: ${JSON.stringify(spec)}`);
  return manifest.spec;
}

/** Of a change from one accepted spec to another. */
export const refusedChanges = (kind: KindName, before: unknown, after: unknown): readonly string[] =>
  brokenRules(kinds[kind], acceptedSpec(kind, after), acceptedSpec(kind, before)).map(({ field }) => `spec.${field}`);
