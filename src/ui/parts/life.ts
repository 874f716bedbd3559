// How much of a certificate's life has passed, as a thin bar that says so in words too.
import { type Html, html } from '../../html/html.ts';
import { DAY_MS, when } from './times.ts';

export type Tone = 'good' | 'wait' | 'bad' | 'off';

type Span = { readonly notBefore: Date | undefined; readonly notAfter: Date | undefined };

/** From 0 to 1. */
export function passedOf({ notBefore, notAfter }: Span, now: Date): number {
  if (notBefore === undefined || notAfter === undefined) return 0;
  const whole = notAfter.getTime() - notBefore.getTime();
  return whole <= 0 ? 1 : Math.min(1, Math.max(0, (now.getTime() - notBefore.getTime()) / whole));
}

const RENEWAL_DUE = 2 / 3;
const RENEWAL_LATE = 0.9;

/** Clients renew when a third of the life is left; who has a tenth left has missed it. */
export function leafTone(span: Span, now: Date): Tone {
  const passed = passedOf(span, now);
  if (passed >= 1) return 'off';
  if (passed >= RENEWAL_LATE) return 'bad';
  return passed >= RENEWAL_DUE ? 'wait' : 'good';
}

const CA_NEAR_MS = 180 * DAY_MS;
const CA_LATE_MS = 30 * DAY_MS;

/** To replace a CA takes months: its leaves have to renew first. */
export function caTone({ notAfter }: Span, now: Date): Tone {
  if (notAfter === undefined) return 'wait';
  const left = notAfter.getTime() - now.getTime();
  if (left <= CA_LATE_MS) return 'bad';
  return left <= CA_NEAR_MS ? 'wait' : 'good';
}

/** The end, and the bar below it. */
export function ending(span: Span, now: Date, tone: Tone): Html {
  if (span.notAfter === undefined) return html`<span class="soft">not signed yet</span>`;
  const percent = Math.floor(100 * passedOf(span, now));
  return html`<div class="ending">${when(span.notAfter, now)}
<svg class="life ${tone}" viewBox="0 0 100 3" preserveAspectRatio="none" role="img" aria-label="${percent} % of its life has passed"><rect class="whole" width="100" height="3"></rect><rect class="passed" width="${percent}" height="3"></rect></svg></div>`;
}
