// How an API server is reached, and as whom: what a kubeconfig or the files of a pod say.

export type Access = {
  readonly server: string;
  readonly namespace?: string | undefined;
  readonly proxyUrl?: string | undefined;
  readonly serverName?: string | undefined;
  readonly skipsVerification?: boolean;
  /** PEM, as it is now; undefined: the authorities that Node knows. */
  readonly authorities?: (() => string) | undefined;
  /** Who we are: asked before every request, so what costs anything is kept. */
  readonly proof: () => Proof | Promise<Proof>;
};

export type Proof = {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** PEM. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
};

/** What the program was started with: plug-ins are found and configured by it. */
export type Environment = Readonly<Record<string, string | undefined>>;
