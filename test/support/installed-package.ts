import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const { resolve } = createRequire(import.meta.url);

/** A file of an installed package, such as the script behind a program it brings. */
export function fileOfPackage(name: string, file: string): string {
  return join(dirname(resolve(`${name}/package.json`)), file);
}

export function versionOfPackage(name: string): string {
  const manifest = readFileSync(fileOfPackage(name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
