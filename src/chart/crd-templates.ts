// The CustomResourceDefinitions as templates of the chart: installed or not, and kept when the release goes.
import { crdFiles } from '../commands/crd-files.ts';

const HEADER = '{{- /* Generated from src/resources by `npm run generate`: never edited. */}}\n';
const METADATA = /^metadata:\n {2}name: .+\n/m;
const OF_THE_CHART = `  labels:
    {{- include "acmery.labels" . | nindent 4 }}
  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
`;

/** Of the folder `templates`. */
export const crdTemplates = (): readonly { readonly name: string; readonly text: string }[] =>
  crdFiles().map(({ name, text }) => ({ name: `crd-${name}`, text: templateOf(text) }));

function templateOf(crd: string): string {
  const body = withoutComment(crd)
    .replaceAll('{{', '{{ "{{" }}')
    .replace(METADATA, (found) => found + OF_THE_CHART);
  return `${HEADER}{{- if .Values.crds.enabled }}\n${body}{{- end }}\n`;
}

const withoutComment = (text: string): string => text.slice(text.indexOf('\n') + 1);
