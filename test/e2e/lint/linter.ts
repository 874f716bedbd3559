// What a linter is to the samples.
import type { Sample } from './samples.ts';

export type SampleFile = Sample & { readonly file: string };

export type Finding = {
  /** Name of the sample. */
  readonly sample: string;
  /** As the linter names its rule. */
  readonly id: string;
  readonly severity: string;
  readonly details: string;
};

export type LintTool = {
  readonly version: string;
  /** Warnings and worse, about the files of one group. */
  lint(files: readonly SampleFile[]): Promise<readonly Finding[]>;
};

export type Linter = {
  readonly name: string;
  /** Where it comes from, for the reader of the report. */
  readonly source: string;
  /** Throws when it cannot be had here. */
  fetch(): Promise<LintTool>;
};
