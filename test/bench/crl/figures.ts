// What a run with one CRL gives, from its process to the benchmark.
export type CrlBuild = {
  /** Processor time of the thread of the event loop. */
  readonly cpuMs: number;
  /** How long it was busy: with the time that it waited for a core, because Postgres and others had them. */
  readonly activeMs: number;
  readonly longestMs: number;
  readonly wallMs: number;
};

export type CrlFigures = {
  readonly builds: readonly CrlBuild[];
  readonly bytes: number;
  readonly revokeMs: readonly number[];
  /** From the call that revokes to the first answer with a CRL that has it. */
  readonly servedMs: readonly number[];
  readonly mostMemoryMb: number;
};
