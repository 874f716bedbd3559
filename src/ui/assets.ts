// What pages need besides themselves: the style sheet, under a name that changes with it, and an icon. For everybody.
import { hash } from 'node:crypto';
import type { HttpRoute } from '../http/route.ts';
import { icon } from './icon.ts';
import { style } from './style/style.ts';

/** A year: the name is that of these bytes. */
const CACHE = 'public, max-age=31536000, immutable';

export const stylePath = `/ui/style.${hash('sha256', style, 'base64url').slice(0, 16)}.css`;
export const iconPath = `/ui/icon.${hash('sha256', icon, 'base64url').slice(0, 16)}.svg`;

const asset = (path: string, mediaType: string, body: string): HttpRoute => ({
  method: 'GET',
  path,
  admit: () => () => ({
    status: 200,
    headers: {
      'Content-Type': mediaType,
      'Cache-Control': CACHE,
      'Cross-Origin-Resource-Policy': 'same-origin',
    },
    body,
  }),
});

export const assetRoutes: readonly HttpRoute[] = [
  asset(stylePath, 'text/css; charset=utf-8', style),
  asset(iconPath, 'image/svg+xml', icon),
];
