// The page for people, made from rows.
import { expect, test } from 'vitest';
import { plainBody } from '../../../src/api/body.ts';
import { docsPage } from '../../../src/api/docs.ts';
import { baseProblems } from '../../../src/api/problems.ts';
import { refusal } from '../../../src/http/refusals.ts';
import { closed, Type } from '../../../src/schema/define.ts';
import { sampleRoutes } from '../../support/sample-routes.ts';

const [row] = sampleRoutes;
if (row === undefined) throw new Error('no sample');
const page = docsPage(sampleRoutes, '1.2.3');

test('every operation is on it, with its permission', () => {
  for (const { operationId, path, permission } of sampleRoutes) {
    expect(page).toContain(`<details id="${operationId}">`);
    expect(page).toContain(`<code>${path}</code>`);
    expect(page).toContain(`<span class="soft">${permission}</span>`);
  }
});

test('parameters and fields are told with type, bounds and default', () => {
  expect(page).toContain(
    '<td><code>limit</code></td><td class="soft">integer 1 to 200, default 50</td><td>How many.</td>',
  );
  expect(page).toContain('<td><code>directory.slug</code></td><td class="soft">string, required</td>');
  expect(page).toContain(
    '<td><code>directory.on_missing_caa</code></td><td class="soft">pass | fail, default &quot;pass&quot;</td>',
  );
});

test('each operation has a line to try it, safe in a shell', () => {
  expect(page).toContain(
    'curl --cacert ca.crt -X PUT &quot;$ACMERY/v1/samples/dir_...&quot; \\\n  -H &quot;Authorization: Bearer $TOKEN&quot; \\\n  -H &#39;Content-Type: application/json&#39; \\\n  -d &#39;{',
  );
  expect(page).toContain('&quot;$ACMERY/v1/samples?directory_id=...&quot;');
  const body = plainBody('Quoted', closed({ name: Type.String({ examples: ["it's"] }) }));
  expect(docsPage([{ ...row, body }], '1')).toContain(
    `-d &#39;{&quot;name&quot;:&quot;it&#39;\\&#39;&#39;s&quot;}&#39;`,
  );
});

test('every error is told with its status and a sentence, and the base agrees', () => {
  expect(page).toContain('<tr id="body_too_large"><td><code>body_too_large</code></td><td>413</td>');
  expect(page.slice(page.indexOf('id="errors"'))).not.toContain('<td></td>');
  for (const [kind, { status }] of Object.entries(baseProblems))
    expect(refusal(kind as keyof typeof baseProblems).status).toBe(status);
});

test('what stands between backticks is shown as code', () => {
  const described = docsPage([{ ...row, description: 'Takes `reason` <b>' }], '1');
  expect(described).toContain('Takes <code>reason</code> &lt;b&gt;');
});

test('what rows say is text, never markup', () => {
  const hostile = docsPage([{ ...row, summary: '<script>alert("1")</script>' }], '<b>');
  expect(hostile).not.toContain('<script>');
  expect(hostile).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;');
  expect(hostile).toContain('Version &lt;b&gt;');
});

test('no id stands twice, so that every anchor leads to one place', () => {
  const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});
