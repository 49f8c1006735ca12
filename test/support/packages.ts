import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface PackageManifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly license?: string;
  readonly type?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface Package {
  readonly folder: string;
  readonly manifest: PackageManifest;
}

const PACKAGES = fileURLToPath(new URL('../../packages/', import.meta.url));

/** Every package of this repository. */
export function allPackages(): Package[] {
  return readdirSync(PACKAGES).map((name) => {
    const folder = `${PACKAGES}${name}`;
    const text = readFileSync(`${folder}/package.json`, 'utf8');
    return { folder, manifest: JSON.parse(text) as PackageManifest };
  });
}

/** Names of the packages of ours that one of them needs, itself included. */
export function neededPackages(name: string): string[] {
  const byName = new Map(allPackages().map(({ manifest }) => [manifest.name, manifest]));
  const needed = new Set<string>();
  const visit = (next: string) => {
    const manifest = byName.get(next);
    if (manifest === undefined || needed.has(next)) return;
    needed.add(next);
    for (const dependency of Object.keys(manifest.dependencies ?? {})) visit(dependency);
  };
  visit(name);
  return [...needed];
}
