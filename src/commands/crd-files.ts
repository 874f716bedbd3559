// The CustomResourceDefinitions as YAML files.
import { dump } from 'js-yaml';
import { crdOf } from '../resources/crd.ts';
import { kinds } from '../resources/kinds.ts';

const HEADER = '# Generated from src/resources by `npm run generate`: never edited.\n';

export const crdFiles = (): readonly { readonly name: string; readonly text: string }[] =>
  Object.values(kinds).map((kind) => ({
    name: `${kind.plural}.yaml`,
    // Each text is written out where it stands; no line is folded, so that a change shows as one line.
    text: HEADER + dump(crdOf(kind), { lineWidth: -1, noRefs: true }),
  }));
