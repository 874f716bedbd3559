// One operation on the documentation page: parameters, body, replies, and a curl line to try it.
import { objectKinds } from '../core/object-kinds.ts';
import { type Html, html, prose } from '../html/html.ts';
import { type ExampleOf, exampleOf, type JsonSchema, jsonSchemaOf } from './examples.ts';
import { descriptionOf } from './openapi.ts';
import { failures, failuresOf } from './refused.ts';
import type { ApiRoute, ReplyShape } from './route.ts';

type Line = { readonly name: string; readonly type: string; readonly description: string };

export const operationHtml = (row: ApiRoute): Html => html`
<details id="${row.operationId}">
<summary><b>${row.method}</b> <code>${row.path}</code> ${row.summary} <span class="soft">${row.permission}</span></summary>
<div>
<p>${prose(descriptionOf(row))}</p>
${table('Parameters', parameterLines(row))}
${row.body && table('Body', fieldLines(jsonSchemaOf(row.body.schema), 'request'))}
${row.body?.whenAbsent !== undefined ? html`<p>The body may be left out.</p>` : undefined}
<h3>Try it</h3>
<pre tabindex="0">${curlOf(row)}</pre>
${Object.entries(row.replies).map(([status, reply]) => replyHtml(status, reply))}
<h3>Failures</h3>
<ul>${failuresOf(row).map((status) => html`<li><b>${status}</b> ${prose(failures[status].description)}</li>`)}</ul>
</div>
</details>`;

const replyHtml = (status: string, { description, schema, mediaTypes = [] }: ReplyShape): Html => html`
<h3>${status}</h3>
<p>${prose(description)}${mediaTypes.length > 0 ? ` As ${mediaTypes.join(' or ')}.` : ''}</p>
${schema && table('', fieldLines(jsonSchemaOf(schema), 'reply'))}
${schema && html`<pre tabindex="0">${JSON.stringify(exampleOf(jsonSchemaOf(schema), 'reply'), null, 2)}</pre>`}`;

function table(title: string, lines: readonly Line[]): Html | undefined {
  if (lines.length === 0) return undefined;
  return html`${title === '' ? undefined : html`<h3>${title}</h3>`}
<div class="scroll" tabindex="0"><table>${lines.map(
    ({ name, type, description }) =>
      html`<tr><td><code>${name}</code></td><td class="soft">${type}</td><td>${prose(description)}</td></tr>`,
  )}</table></div>`;
}

function parameterLines({ params = {}, query = {} }: ApiRoute): readonly Line[] {
  const inPath = Object.entries(params).map(([name, kind]) => ({
    name,
    type: 'in the path',
    description: `The id of the ${objectKinds[kind].noun}.`,
  }));
  const inQuery = Object.entries(query).map(([name, { schema, isRequired, default: usual }]) =>
    lineOf(name, { ...jsonSchemaOf(schema), ...(usual !== undefined && { default: usual }) }, isRequired && 'required'),
  );
  return [...inPath, ...inQuery];
}

const lineOf = (name: string, schema: JsonSchema, mark: string | false): Line => ({
  name,
  type: mark === false ? typeOf(schema) : `${typeOf(schema)}, ${mark}`,
  description: schema.description ?? '',
});

/** Every field below the schema, by its path. Requests are told what they need, replies what they may lack. */
function fieldLines({ properties = {}, required = [] }: JsonSchema, use: ExampleOf, before = ''): readonly Line[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = before + name;
    const isRequired = required.includes(name);
    const mark = use === 'request' ? isRequired && 'required' : !isRequired && 'may be absent';
    const below = schema.items === undefined ? `${path}.` : `${path}[].`;
    return [lineOf(path, schema, mark), ...fieldLines(schema.items ?? schema, use, below)];
  });
}

function typeOf({ type = 'any', enum: values, items, minimum, maximum, default: usual }: JsonSchema): string {
  const names = [type].flat().filter((name) => name !== 'null');
  const kind = values === undefined ? names.join(' or ') : values.filter((value) => value !== null).join(' | ');
  const full = items === undefined ? kind : `list of ${typeOf(items)}`;
  const range = minimum !== undefined && maximum !== undefined ? ` ${minimum} to ${maximum}` : '';
  const orNull = [type].flat().includes('null') ? ' or null' : '';
  return `${full}${range}${orNull}${usual === undefined ? '' : `, default ${JSON.stringify(usual)}`}`;
}

function curlOf({ method, path, params = {}, permission, body, requireOneOf = [] }: ApiRoute): string {
  const target = Object.entries(params).reduce(
    (text, [name, kind]) => text.replace(`:${name}`, `${objectKinds[kind].prefix}_...`),
    path,
  );
  const filter = requireOneOf[0] === undefined ? '' : `?${requireOneOf[0]}=...`;
  const json = body && JSON.stringify(exampleOf(jsonSchemaOf(body.schema), 'request')).replaceAll("'", "'\\''");
  return [
    `curl --cacert ca.crt${method === 'GET' ? '' : ` -X ${method}`} "$ACMERY${target}${filter}"`,
    ...(permission === 'none' ? [] : ['  -H "Authorization: Bearer $TOKEN"']),
    ...(json === undefined ? [] : [`  -H 'Content-Type: application/json'`, `  -d '${json}'`]),
  ].join(' \\\n');
}
