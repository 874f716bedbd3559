// Finds the CAA record set that governs a name: RFC 8659 section 3, the climb from the name to its top-level domain.
import type { CaaRecord, DnsAnswer, DnsFailure, DnsResolver } from './resolver.ts';

export type CaaLookup =
  /** `name` is where the governing set stands: the name asked for or one of its parents. */
  | { readonly outcome: 'found'; readonly name: string; readonly records: readonly CaaRecord[] }
  | { readonly outcome: 'none' }
  /** Nobody knows whether a set exists: never a permission. */
  | DnsFailure;

/** Looks up a DNS name (never an address), with or without `*.`. Rejects only with the signal's reason. */
export type CaaResolver = (name: string, signal: AbortSignal) => Promise<CaaLookup>;

const MAX_LEVELS = 16;
const LEVELS_AT_ONCE = 4;

export function createCaaResolver(resolver: DnsResolver): CaaResolver {
  return async (name, signal) => {
    const levels = levelsOf(name);
    if (levels.length > MAX_LEVELS) return tooDeep(name, levels.length);

    // Once the answer is known, look-ups further up are of no interest.
    const known = new AbortController();
    const climb = AbortSignal.any([signal, known.signal]);
    const asked: Promise<DnsAnswer<CaaRecord>>[] = [];
    const ask = (level: string): void => {
      const answer = resolver.caa(level, climb);
      answer.catch(() => undefined); // the loop below awaits it, or has ended and does not care
      asked.push(answer);
    };

    try {
      for (const level of levels.slice(0, LEVELS_AT_ONCE)) ask(level);
      for (let index = 0; index < levels.length; index++) {
        const answer = await asked[index];
        // CAA-10: a failure below the first set decides; whether a nearer set exists is unknown.
        if (answer !== undefined && answer.outcome !== 'none') return answer;
        const next = levels[index + LEVELS_AT_ONCE];
        if (next !== undefined) ask(next);
      }
      return { outcome: 'none' };
    } finally {
      known.abort();
    }
  };
}

/** `*.a.corp.example` -> a.corp.example, corp.example, example. */
function levelsOf(name: string): string[] {
  const labels = name.replace(/^\*\./, '').replace(/\.$/, '').split('.');
  return labels.map((_, index) => labels.slice(index).join('.'));
}

const tooDeep = (name: string, labels: number): DnsFailure => ({
  outcome: 'failed',
  name,
  answer: 'nothing, because the name is too deep',
  detail: `CAA records are looked up for names of at most ${MAX_LEVELS} labels; ${name} has ${labels}.`,
});
