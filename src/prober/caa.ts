// Finds the CAA records that govern a name: RFC 8659 section 3, the climb from the name to its top-level domain.
import { OwnSignal } from '../core/own-signal.ts';
import type { CaaAnswer, CaaRecord, CaaResolver } from '../core/ports.ts';
import type { DnsAnswer, DnsResolver } from './resolver.ts';

const MAX_LEVELS = 16;
const LEVELS_AT_ONCE = 4;

/** Made once: without it each look-up would make an error of its own, with its stack. */
const nobodyWaits = new Error('The CAA records that govern the name are known.');

export function createCaaResolver(resolver: DnsResolver): CaaResolver {
  return async (name, signal) => {
    const levels = levelsOf(name);
    const [nearest = name] = levels;
    if (levels.length > MAX_LEVELS)
      return [{ name: nearest, failure: `it has ${levels.length} labels, and at most ${MAX_LEVELS} are looked up` }];

    // Once the governing level is known, look-ups further up are of no interest.
    using climb = new OwnSignal(signal);
    const asked: Promise<CaaAnswer>[] = [];
    const ask = (level: string): void => {
      const answer = resolver.caa(level, climb.signal).then(caaAnswer);
      answer.catch(() => undefined); // the loop below awaits it, or has ended and does not care
      asked.push(answer);
    };

    try {
      const lookup: CaaAnswer[] = [];
      for (const level of levels.slice(0, LEVELS_AT_ONCE)) ask(level);
      for (let index = 0; index < levels.length; index++) {
        const answer = await asked[index];
        if (answer === undefined) break;
        lookup.push(answer);
        // CAA-10: above a failure nothing counts, because the nearest records may be the ones that did not come.
        if ('failure' in answer || answer.records.length > 0) break;
        const next = levels[index + LEVELS_AT_ONCE];
        if (next !== undefined) ask(next);
      }
      return lookup;
    } finally {
      climb.end(nobodyWaits);
    }
  };
}

/** `*.a.corp.example` -> a.corp.example, corp.example, example. */
function levelsOf(name: string): string[] {
  const labels = name.replace(/^\*\./, '').split('.');
  return labels.map((_, index) => labels.slice(index).join('.'));
}

function caaAnswer(answer: DnsAnswer<CaaRecord>): CaaAnswer {
  const { name } = answer;
  switch (answer.outcome) {
    case 'found':
      return { name, records: answer.records };
    case 'none':
      return { name, records: [] };
    case 'failed':
      return { name, failure: answer.answer };
  }
}
