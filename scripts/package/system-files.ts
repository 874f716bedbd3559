// What Node needs of the system that it runs on: its shared libraries, and which Debian packages they come from.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { arch, versions } from 'node:process';
import type { Component } from './sbom.ts';

export type SystemPackage = {
  readonly name: string;
  /** As dpkg knows it: what scanners of images read. */
  readonly record: string;
  readonly copyright: string | undefined;
  readonly component: Component;
};

/** Paths under which the running Node has found them; the kernel's own is no file. */
export function sharedLibraries(): readonly string[] {
  const report = process.report.getReport() as unknown as { readonly sharedObjects: readonly string[] };
  return report.sharedObjects.filter((path) => path.startsWith('/') && existsSync(path)).sort();
}

/** Those that the libraries come from; none on a system that is not Debian. */
export function packagesOfLibraries(libraries: readonly string[]): readonly SystemPackage[] {
  const names = new Set(libraries.flatMap((path) => ownerOf(path) ?? ownerOf(realpathSync(path)) ?? []));
  return [...names].sort().map(describePackage);
}

function ownerOf(path: string): string | undefined {
  return dpkg('dpkg-query', ['--search', path])?.split(':')[0];
}

function describePackage(name: string): SystemPackage {
  const record = dpkg('dpkg-query', ['--status', name]) ?? '';
  const field = (key: string): string => new RegExp(`^${key}: (.*)$`, 'm').exec(record)?.[1] ?? '';
  const [id = 'debian', release = ''] = ['ID', 'VERSION_ID'].map((key) => osRelease(key));
  const query = new URLSearchParams({ arch: field('Architecture'), distro: `${id}-${release}` });
  const purl = `pkg:deb/${id}/${name}@${encodeURIComponent(field('Version'))}?${query}`;
  const copyright = `/usr/share/doc/${name}/copyright`;
  return {
    name,
    record,
    copyright: existsSync(copyright) ? copyright : undefined,
    component: { type: 'library', 'bom-ref': purl, name, version: field('Version'), purl },
  };
}

function dpkg(program: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    // Not of a package, or no dpkg.
    return undefined;
  }
}

const osRelease = (key: string): string =>
  new RegExp(`^${key}="?([^"\n]*)`, 'm').exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? '';

/** The Node that runs this, which is the one that the image gets. */
export function nodeComponent(): Component {
  const purl = `pkg:generic/node@${versions.node}?arch=${arch}`;
  const content = createHash('sha256').update(readFileSync(process.execPath)).digest('hex');
  return {
    type: 'platform',
    'bom-ref': purl,
    name: 'node',
    version: versions.node,
    purl,
    hashes: [{ alg: 'SHA-256', content }],
    licenses: [{ license: { id: 'MIT' } }],
  };
}
