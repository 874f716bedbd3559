// Headers of every page: nothing runs, nothing comes from elsewhere, and nobody frames it.
import type { HttpHeaders } from '../http/route.ts';

/** No script at all, no inline style; forms and pictures are our own. */
export const uiPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const pageHeaders: HttpHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': uiPolicy,
  // So that a browser without Sec-Fetch-Site names the origin of a form.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
};
