// What the files of a folder declare together: objects, Secrets and namespaces, and everything that is wrong with them.
import type { ForeignManifest, Manifest } from '../resources/manifest.ts';
import { problemLine } from '../resources/manifest.ts';
import { readManifests } from '../resources/manifests.ts';
import { keyText, type ResourceKey } from '../resources/resource.ts';
import type { FolderReading, ManifestFile } from './manifest-files.ts';
import { parseYaml } from './yaml.ts';

export type Declarations = {
  readonly objects: ReadonlyMap<string, Manifest>;
  /** By `namespace/name`. */
  readonly secrets: ReadonlyMap<string, Readonly<Record<string, Buffer>>>;
  /** Labels by namespace. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** One line each. While there are any, nobody knows what is missing, and nothing is taken for deleted. */
  readonly problems: readonly string[];
};

type FileContent = Pick<Declarations, 'problems'> & {
  readonly manifests: readonly Manifest[];
  readonly foreign: readonly ForeignManifest[];
};

/** Reads folder after folder reading; of a file that cannot be read any more the last good content counts. */
export class DeclarationReader {
  readonly #namespace: string;
  #lastGood = new Map<string, FileContent>();

  /** `namespace` is that of documents that name none. */
  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  read(reading: Extract<FolderReading, { files: unknown }>): Declarations {
    const objects = new Map<string, Manifest>();
    const secrets = new Map<string, Readonly<Record<string, Buffer>>>();
    const namespaces = new Map<string, Readonly<Record<string, string>>>();
    const problems: string[] = [];
    const contents = new Map(reading.files.map((file) => [file.path, this.#contentOf(file)]));
    for (const [path, { manifests, foreign, problems: ofFile }] of contents) {
      problems.push(...ofFile);
      for (const manifest of manifests) {
        const key = keyText(keyOf(manifest));
        if (objects.has(key))
          problems.push(`${path}: ${titleOf(manifest)}: this object is declared in another file too`);
        else objects.set(key, manifest);
      }
      for (const document of foreign) {
        if (isOf(document, 'Secret')) addSecret(secrets, document.value, this.#namespace);
        if (isOf(document, 'Namespace')) addNamespace(namespaces, document.value);
      }
    }
    this.#lastGood = contents;
    return { objects, secrets, namespaces, problems };
  }

  #contentOf(file: ManifestFile): FileContent {
    const before = this.#lastGood.get(file.path) ?? { manifests: [], foreign: [], problems: [] };
    if ('problem' in file) return { ...before, problems: [`${file.path}: ${file.problem}`] };
    const { documents, problems } = parseYaml(file.path, file.text);
    if (problems.length > 0) return { ...before, problems: problems.map(problemLine) };
    const read = readManifests(documents, this.#namespace);
    const found = { ...read, problems: read.problems.map(problemLine) };
    return found.problems.length === 0 ? found : { ...found, foreign: [...before.foreign, ...found.foreign] };
  }
}

const keyOf = ({ kind, metadata: { namespace, name } }: Manifest): ResourceKey => ({ kind, namespace, name });

const titleOf = ({ kind, metadata: { namespace, name } }: Manifest): string => `${kind} ${namespace}/${name}`;

const isOf = ({ apiVersion, kind }: ForeignManifest, name: string): boolean => apiVersion === 'v1' && kind === name;

type Meta = { readonly name?: string; readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> };
type Texts = Readonly<Record<string, string>>;

function addSecret(secrets: Map<string, Readonly<Record<string, Buffer>>>, value: object, usual: string): void {
  const { metadata, data, stringData } = value as { metadata?: Meta; data?: Texts | null; stringData?: Texts | null };
  if (typeof metadata?.name !== 'string') return;
  const decoded = Object.entries(data ?? {}).map(([key, text]) => [key, Buffer.from(String(text), 'base64')] as const);
  const plain = Object.entries(stringData ?? {}).map(([key, text]) => [key, Buffer.from(String(text))] as const);
  secrets.set(`${metadata.namespace ?? usual}/${metadata.name}`, Object.fromEntries([...decoded, ...plain]));
}

function addNamespace(namespaces: Map<string, Readonly<Record<string, string>>>, value: object): void {
  const { metadata } = value as { metadata?: Meta };
  if (typeof metadata?.name === 'string') namespaces.set(metadata.name, metadata.labels ?? {});
}
