// A serving certificate from two files, read again whenever their content changes.
import { readFile } from 'node:fs/promises';
import type { Events } from '../telemetry/events.ts';
import { checkedTlsPair, type TlsPair, TlsPairError, TlsSlot } from './tls-source.ts';

export type TlsFilesOptions = {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Contents are compared: file events do not survive the symbolic links that Kubernetes swaps in a mounted Secret. */
  readonly intervalMs: number;
  readonly now: () => Date;
  readonly events: Events;
};

type FileNames = Pick<TlsFilesOptions, 'certificateFile' | 'keyFile'>;
type Contents = { readonly certificate: string; readonly key: string };

/** Throws TlsPairError when the files cannot serve now; later, bad contents are refused and the last good pair stays. */
export async function openTlsFiles(options: TlsFilesOptions): Promise<TlsFiles> {
  const contents = await readContents(options);
  const pair = checked(options, contents);
  return new TlsFiles(options, contents, new TlsSlot(pair));
}

/** The pair in two files, once it is certain that it can serve at `now`. Throws TlsPairError. */
export async function readTlsFiles(
  files: Pick<TlsFilesOptions, 'certificateFile' | 'keyFile' | 'now'>,
): Promise<TlsPair> {
  return checked(files, await readContents(files));
}

export class TlsFiles implements AsyncDisposable {
  readonly source: TlsSlot;
  readonly #options: TlsFilesOptions;
  readonly #timer: NodeJS.Timeout;
  #seen: Contents;
  #refused: string | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(options: TlsFilesOptions, seen: Contents, source: TlsSlot) {
    this.source = source;
    this.#options = options;
    this.#seen = seen;
    this.#timer = setInterval(() => void this.reload(), options.intervalMs).unref();
  }

  /** Looks at the files now. Never rejects: what is wrong with them is an event, told once per fault. */
  reload(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#readOnce());
    return this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }

  async #readOnce(): Promise<void> {
    const { events, certificateFile } = this.#options;
    try {
      const contents = await readContents(this.#options);
      const isSeen = isSame(contents, this.#seen);
      if (isSeen && this.#refused === undefined) return;
      const pair = checked(this.#options, contents);
      this.#refused = undefined;
      if (isSeen) return;
      this.#seen = contents;
      this.source.replace(pair);
      events.servingCertificateRotated({ source: certificateFile, notAfter: pair.notAfter });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason === this.#refused) return;
      this.#refused = reason;
      events.servingCertificateRefused({ reason, keptUntil: this.source.current().notAfter });
    }
  }
}

// Until two readings agree: files swapped between one and the other would look like a key of another certificate.
async function readContents(options: FileNames): Promise<Contents> {
  const [first, second] = [await readBoth(options), await readBoth(options)];
  return isSame(first, second) ? second : readContents(options);
}

async function readBoth({ certificateFile, keyFile }: FileNames): Promise<Contents> {
  const [certificate, key] = await Promise.all([readText(certificateFile), readText(keyFile)]);
  return { certificate, key };
}

const isSame = (one: Contents, other: Contents) => one.certificate === other.certificate && one.key === other.key;

const readText = (file: string) =>
  readFile(file, 'utf8').catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new TlsPairError(`${file} cannot be read: ${why}`, error);
  });

function checked(
  { certificateFile, keyFile, now }: FileNames & Pick<TlsFilesOptions, 'now'>,
  { certificate, key }: Contents,
) {
  try {
    return checkedTlsPair(certificate, key, now());
  } catch (error) {
    if (!(error instanceof TlsPairError)) throw error;
    throw new TlsPairError(`${certificateFile} with ${keyFile}: ${error.message}`, error.cause);
  }
}
