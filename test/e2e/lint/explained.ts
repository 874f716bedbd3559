// What linters say that is so on purpose, each with its reason. docs/profiles.md has the same table for readers.
import type { Finding } from './linter.ts';

export type Explained = {
  readonly linter: string;
  readonly id: string;
  /** Which sample; the same finding about another one is not explained. */
  readonly sample: string;
  readonly reason: string;
};

export const explained: readonly Explained[] = [
  {
    linter: 'pkilint',
    id: 'pkix.invalid_domain_name_syntax',
    sample: 'leaf with a wildcard',
    reason:
      'RFC 5280 section 4.2.1.6 leaves wildcards to applications, and RFC 9525 section 6.3 defines them; the linter knows host names alone.',
  },
  {
    linter: 'pkilint',
    id: 'pkix.invalid_domain_name_syntax',
    sample: 'certificate of a listener',
    reason:
      'The name is localhost. A name of one label is one in the preferred name syntax of RFC 1034 section 3.5; the linter wants two.',
  },
];

export const explains = (row: Explained, linter: string, { id, sample }: Finding): boolean =>
  row.linter === linter && row.id === id && row.sample === sample;
