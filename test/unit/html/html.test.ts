// HTML text: whatever a value holds, it stays text.
import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { html, prose } from '../../../src/html/html.ts';

/** What ends text or an attribute, what browsers take for it, and what they leave out while they read. */
const pieces = [
  '<',
  '>',
  '"',
  "'",
  '&',
  '`',
  '=',
  '/',
  '\\',
  '\0',
  '\n',
  '\r',
  '\t',
  ' ',
  '\u2028',
  '\u202e',
  '\ufeff',
  '\ud800',
  '<script>',
  '</script',
  '<!--',
  '-->',
  ']]>',
  '&lt;',
  '&#60;',
  '&quot',
  'javascript:',
  'onload=',
  '<svg/onload=',
  'x',
  '\u0130',
];

const anything = (): string =>
  Array.from({ length: randomInt(0, 30) }, () => pieces[randomInt(pieces.length)]).join('');

const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

test('a value can end neither the text nor the attribute that it stands in, and is read back as it was', () => {
  for (let round = 0; round < 4_000; round += 1) {
    const value = anything();
    const { html: text } = html`<p title="${value}">${value}</p>`;
    const [, title = '', inner = ''] = /^<p title="([^"]*)">([^<]*)<\/p>$/.exec(text) ?? [];
    expect(unescaped(title)).toBe(value);
    expect(unescaped(inner)).toBe(value);
    expect(title).not.toMatch(/[<>"']/);
    expect(inner).not.toMatch(/[<>"']/);
  }
});

test('HTML of our own stands as it is, once and in lists; what is undefined is left out', () => {
  const part = html`<b>${'a & b'}</b>`;
  expect(html`<i>${part}${[part, part]}${undefined}${7}</i>`.html).toBe(
    '<i><b>a &amp; b</b><b>a &amp; b</b><b>a &amp; b</b>7</i>',
  );
});

test('text between backticks is code', () => {
  expect(html`${prose('Takes `<id>` or none')}`.html).toBe('Takes <code>&lt;id&gt;</code> or none');
});
