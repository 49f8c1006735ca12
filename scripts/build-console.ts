// Builds the page of the console into packages/console/dist/page: hashed files with their compressed
// twins, so that the gateway only has to send them. Run by `npm start`, `npm run build` and `prepack`, and
// by the tests that open the page.

import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type OutputChunk, rolldown } from 'rolldown';
import { licencesOf } from './licences.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const PACKAGE = join(ROOT, 'packages/console');
const FOLDER = join(PACKAGE, 'dist/page');

/** Sizes in bytes: of the scripts that the first screen loads, and of all of them. */
export interface PageSizes {
  readonly first: Compressed;
  readonly all: Compressed;
}

interface Compressed {
  readonly raw: number;
  readonly gzip: number;
  readonly brotli: number;
}

export async function buildConsole(): Promise<PageSizes> {
  const bundle = await rolldown({
    input: { main: join(PACKAGE, 'src/main.tsx') },
    platform: 'browser',
    transform: { target: 'es2022' },
  });
  const { output } = await bundle.generate({
    format: 'es',
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
    minify: true,
  });
  await bundle.close();
  const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk');
  const files = new Map(chunks.map(({ fileName, code }) => [fileName, Buffer.from(code)]));

  const style = Buffer.concat(await Promise.all(styleSheets().map((path) => readFile(path))));
  const styleName = `style-${hashOf(style)}.css`;
  files.set(styleName, style);
  const icon = await readFile(join(PACKAGE, 'src/icon.svg'));
  const iconName = `icon-${hashOf(icon)}.svg`;
  files.set(iconName, icon);
  files.set('licences.txt', Buffer.from(await licencesOf(chunks)));

  const main = chunks.find(({ isEntry }) => isEntry);
  if (main === undefined) throw new Error('the page has no entry');
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const first = withImports(main, byName);
  // The browser learns of all of them at once, and not one after the other.
  const preload = [...first]
    .slice(1)
    .map(({ fileName }) => `<link rel="modulepreload" href="./${fileName}">`);
  const named: Readonly<Record<string, string>> = {
    main: main.fileName,
    style: styleName,
    icon: iconName,
    preload: preload.join('\n    '),
  };
  const page = await readFile(join(PACKAGE, 'src/index.html'), 'utf8');
  const html = page.replace(/\{(\w+)\}/g, (_, name: string) => named[name] ?? '');
  files.set('index.html', Buffer.from(html));
  await replaceFolder(files);
  return { first: await sizesOf([...first]), all: await sizesOf(chunks) };
}

function styleSheets(): string[] {
  return [
    join(ROOT, 'node_modules/uplot/dist/uPlot.min.css'),
    join(PACKAGE, 'src/style.css'),
    join(PACKAGE, 'src/screens.css'),
  ];
}

function withImports(
  main: OutputChunk,
  byName: ReadonlyMap<string, OutputChunk>,
): Set<OutputChunk> {
  const found = new Set([main]);
  for (const chunk of found) {
    for (const name of chunk.imports) {
      const imported = byName.get(name);
      if (imported !== undefined) found.add(imported);
    }
  }
  return found;
}

/** A gateway that serves the page meanwhile finds whole files. */
async function replaceFolder(files: ReadonlyMap<string, Buffer>): Promise<void> {
  await mkdir(dirname(FOLDER), { recursive: true });
  const draft = await mkdtemp(`${FOLDER}-`);
  for (const [name, content] of files) {
    const { br, gz } = await compressed(content);
    await writeFile(join(draft, name), content);
    await writeFile(join(draft, `${name}.br`), br);
    await writeFile(join(draft, `${name}.gz`), gz);
  }
  await mkdir(FOLDER, { recursive: true });
  const names = await readdir(draft);
  // `index.html` names the others, so it comes last.
  names.sort((a, b) => Number(a.startsWith('index.')) - Number(b.startsWith('index.')));
  for (const name of names) await rename(join(draft, name), join(FOLDER, name));
  await rm(draft, { recursive: true });
  const stale = (await readdir(FOLDER)).filter((name) => !names.includes(name));
  for (const name of stale) await rm(join(FOLDER, name));
}

async function compressed(content: Buffer): Promise<{ br: Buffer; gz: Buffer }> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(content, { params }),
    promisify(gzip)(content, { level: 9 }),
  ]);
  return { br, gz };
}

async function sizesOf(chunks: readonly OutputChunk[]): Promise<Compressed> {
  const sizes = { raw: 0, gzip: 0, brotli: 0 };
  for (const { code } of chunks) {
    const { br, gz } = await compressed(Buffer.from(code));
    sizes.raw += Buffer.byteLength(code);
    sizes.gzip += gz.length;
    sizes.brotli += br.length;
  }
  return sizes;
}

function hashOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 10);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildConsole();
