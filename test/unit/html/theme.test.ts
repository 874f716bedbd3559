// The colours of pages: text can be read on everything that it stands on, in light and in dark.
import { describe, expect, test } from 'vitest';
import { theme } from '../../../src/html/theme.ts';

const [light = '', dark = ''] = theme.split('@media');
const colour = (part: string, name: string): string => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(part)?.[1] ?? '';

/** WCAG 2.2, relative luminance and contrast ratio. */
const luminance = (hex: string): number => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const contrast = (one: string, other: string): number => {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};

const texts: readonly (readonly [text: string, back: string])[] = [
  ...['back', 'panel', 'code'].flatMap((back) => ['text', 'soft', 'mark'].map((text) => [text, back] as const)),
  ...['good', 'wait', 'bad', 'off'].map((tone) => [tone, `${tone}-back`] as const),
  ...['good', 'wait', 'bad'].map((tone) => ['text', `${tone}-back`] as const),
  ...['wait', 'bad'].map((tone) => ['mark', `${tone}-back`] as const),
  ['bad', 'panel'],
  ['back', 'mark'],
];

describe.each([
  ['light', light],
  ['dark', dark],
])('in %s', (_name, part) => {
  test.each(texts)('%s on %s has a contrast of 4.5 or more', (text, back) => {
    expect(contrast(colour(part, text), colour(part, back))).toBeGreaterThanOrEqual(4.5);
  });
  test('the edges of fields and buttons have one of 3 or more', () => {
    expect(contrast(colour(part, 'edge'), colour(part, 'back'))).toBeGreaterThanOrEqual(3);
  });
});
