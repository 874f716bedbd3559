// A CycloneDX bill of materials. The same contents give the same bytes: no time, and an id that follows from the contents.
import { createHash } from 'node:crypto';
import type { BundledPackage } from './contents.ts';
import { manifest } from './tree.ts';

export type Component = {
  readonly type: 'application' | 'library' | 'platform' | 'operating-system';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly ({ readonly license: { readonly id: string } } | { readonly expression: string })[];
};

/** The program with the packages in it, and with whatever else lies beside them. */
export function sbomText(packages: readonly BundledPackage[], besides: readonly Component[] = []): string {
  const program = componentOf({ ...manifest, integrity: undefined }, 'application');
  const libraries = packages.map((bundled) => componentOf(bundled, 'library'));
  const dependencies = [
    { ref: program.purl, dependsOn: [...libraries, ...besides].map(({ purl }) => purl) },
    ...packages.map((bundled, index) => ({
      ref: libraries[index]?.purl,
      dependsOn: libraries.filter(({ name }) => bundled.needs.includes(name)).map(({ purl }) => purl),
    })),
  ];
  const content = {
    version: 1,
    metadata: { component: program },
    components: [...libraries, ...besides],
    dependencies,
  };
  return `${JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: serialOf(content), ...content }, null, 2)}\n`;
}

type Described = Pick<BundledPackage, 'name' | 'version' | 'license' | 'integrity'>;

function componentOf({ name, version, license, integrity }: Described, type: Component['type']): Component {
  const purl = `pkg:npm/${name.replace(/^@/, '%40')}@${version}`;
  const sha512 = integrity?.startsWith('sha512-')
    ? Buffer.from(integrity.slice(7), 'base64').toString('hex')
    : undefined;
  return {
    type,
    'bom-ref': purl,
    name,
    version,
    purl,
    ...(sha512 !== undefined && { hashes: [{ alg: 'SHA-512', content: sha512 }] }),
    licenses: [/^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license }],
  };
}

/** A UUID (version 8) of the digest. */
function serialOf(content: object): string {
  const digest = createHash('sha256').update(JSON.stringify(content)).digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex');
  return `urn:uuid:${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')}`;
}
