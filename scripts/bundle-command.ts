// What `npm pack` ships of the command line: our packages and the libraries that every start needs, in
// few files. A start that opens hundreds of small modules takes twice as long. Run by `prepack`, after
// the build; libraries that only some configurations use stay packages of their own.

import { globSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import { licencesOf } from './licences.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const FOLDER = join(ROOT, 'packages/starloom/bundle');

/** `main`, and what runs in a thread: it is named by its place beside the module that starts it. */
const ENTRIES: Record<string, string> = { main: join(ROOT, 'packages/starloom/dist/main.js') };
for (const path of globSync('packages/*/src/**/*.ts', { cwd: ROOT })) {
  const text = readFileSync(join(ROOT, path), 'utf8');
  for (const [, name = ''] of text.matchAll(/new URL\(`\.\/([\w-]+)\$\{/g)) {
    const folder = dirname(path).replace(/\bsrc\b/, 'dist');
    if (!path.startsWith('packages/samples/')) ENTRIES[name] = join(ROOT, folder, `${name}.js`);
  }
}

const INLINED = [
  '@marcbachmann/cel-js',
  '@modelcontextprotocol/client',
  '@modelcontextprotocol/server',
  'commander',
  'ipaddr.js',
  'jose',
  'pino',
  're2js',
  'smol-toml',
  'ws',
  'yaml',
  'zod',
];

const UNDICI = 'undici.cjs';
const LEAN_HTTP = '\0lean-http';
/** Names stay: they are what a stack trace shows. */
const WHITESPACE = { mangle: false, compress: false, codegen: { removeWhitespace: true } };

/** These have files beside their code. */
const APART = /^@starloom\/(samples|console)\b/;
const isOwn = (id: string) => id.startsWith('@starloom/') && !APART.test(id);
const isInlined = (id: string) => INLINED.some((name) => id === name || id.startsWith(`${name}/`));

const bundle = await rolldown({
  input: ENTRIES,
  platform: 'node',
  plugins: [undiciOnDemand(), httpWithoutWebSocket()],
  external: (id, from) => {
    // What an inlined library needs of its own is inlined with it.
    const isFromLibrary = from?.includes('node_modules') === true;
    return (
      id !== 'undici' &&
      id !== 'node:http' &&
      /^[@\w]/.test(id) &&
      !isOwn(id) &&
      !isInlined(id) &&
      !(isFromLibrary && !isBuiltin(id))
    );
  },
  resolve: { conditionNames: ['node', 'import', 'default'] },
});
// Whoever reads the bundle meanwhile finds whole files.
const draft = await mkdtemp(`${FOLDER}-`);
const { output } = await bundle.write({
  dir: draft,
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
  minify: WHITESPACE,
});
await (
  await rolldown({ input: join(ROOT, 'node_modules/undici/index.js'), platform: 'node' })
).write({
  file: join(draft, UNDICI),
  format: 'cjs',
  minify: WHITESPACE,
});
// Read beside the code as `../openapi.json`, where the package of coordination has it.
await copyFile(
  join(ROOT, 'packages/coordination/openapi.json'),
  join(ROOT, 'packages/starloom/openapi.json'),
);
await writeFile(join(draft, 'LICENSES.txt'), await licencesOf(output.filter(isChunk)));
await mkdir(FOLDER, { recursive: true });
const files = await readdir(draft);
for (const name of files) await rename(join(draft, name), join(FOLDER, name));
await rm(draft, { recursive: true });
const stale = (await readdir(FOLDER)).filter((name) => !files.includes(name));
for (const name of stale) await rm(join(FOLDER, name));

/** Most starts need it only when the first agent is called: a file of its own, read then. */
function undiciOnDemand(): Plugin {
  return {
    name: 'undici-on-demand',
    resolveId: (id) => (id === 'undici' ? { id: `./${UNDICI}`, external: true } : null),
    transform: (code) =>
      code.replace("(import.meta.url)('undici')", `(import.meta.url)('./${UNDICI}')`),
  };
}

/**
 * An `import` of `node:http` reads every name that it exports, `WebSocket` too, and with it Node loads
 * the client that it has inside: a tenth of a start.
 */
function httpWithoutWebSocket(): Plugin {
  const names = Object.entries(Object.getOwnPropertyDescriptors(http))
    .filter(([, { get }]) => get === undefined)
    .map(([name]) => name);
  return {
    name: 'http-without-websocket',
    resolveId: (id) => (id === 'node:http' ? { id: LEAN_HTTP } : null),
    load: (id) =>
      id === LEAN_HTTP
        ? [
            "const http = process.getBuiltinModule('node:http');",
            'export default http;',
            `export const { ${names.join(', ')} } = http;`,
          ].join('\n')
        : null,
  };
}

function isBuiltin(id: string): boolean {
  return id.startsWith('node:');
}

function isChunk(file: { readonly type: string }): file is OutputChunk {
  return file.type === 'chunk';
}
