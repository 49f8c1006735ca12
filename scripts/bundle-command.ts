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
const ENTRIES = new Map([['main', join(ROOT, 'packages/starloom/dist/main.js')]]);
for (const path of globSync('packages/*/src/**/*.ts', { cwd: ROOT })) {
  const text = readFileSync(join(ROOT, path), 'utf8');
  for (const [, name = ''] of text.matchAll(/new URL\(`\.\/([\w-]+)\$\{/g)) {
    const folder = dirname(path).replace(/\bsrc\b/, 'dist');
    if (!path.startsWith('packages/samples/')) ENTRIES.set(name, join(ROOT, folder, `${name}.js`));
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
/**
 * Names stay: they are what a stack trace shows. One character beyond Latin-1 makes Node decode a file
 * slowly, and keep it in twice the memory.
 */
const WHITESPACE = {
  mangle: false,
  compress: false,
  codegen: { removeWhitespace: true, asciiOnly: true },
};

const DECLARING = /\/packages\/[\w-]+\/dist\/|\/@modelcontextprotocol\//;

/** These have files beside their code. */
const WITH_FILES = /^@starloom\/(samples|console)\b/;
const isOwn = (id: string) => id.startsWith('@starloom/') && !WITH_FILES.test(id);
const isInlined = (id: string) => INLINED.some((name) => id === name || id.startsWith(`${name}/`));

// Whoever reads the bundle meanwhile finds whole files.
const draft = await mkdtemp(`${FOLDER}-`);
// A thread loads only its own few modules: what it shares with the command is in both.
const output = [];
for (const [name, path] of ENTRIES) output.push(...(await bundle(name, path)));

async function bundle(entry: string, path: string) {
  const built = await rolldown({
    input: { [entry]: path },
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    // These modules do nothing but declare: what nothing uses is left out, and what uses a constant of the
    // SDK does not load the SDK.
    treeshake: { moduleSideEffects: [{ test: DECLARING, sideEffects: false }] },
    optimization: { inlineConst: { mode: 'all' } },
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
  const name = groupOf((await built.generate()).output.filter(isChunk));
  const { output } = await built.write({
    dir: draft,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: {
      groups: [{ name, debugName: 'start' }],
      includeDependenciesRecursively: false,
    },
    minify: WHITESPACE,
  });
  return output;
}

/**
 * What a gateway loads when it starts is three files and not a hundred: what only a gateway needs, what it
 * shares with `starloom call`, and what it shares with other commands.
 */
function groupOf(chunks: readonly OutputChunk[]): (moduleId: string) => string | null {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const loadedBy = (chunk: OutputChunk, loaded = new Set<OutputChunk>()) => {
    loaded.add(chunk);
    for (const name of chunk.imports) {
      const next = byName.get(name);
      if (next && !loaded.has(next)) loadedBy(next, loaded);
    }
    return loaded;
  };
  const entry = (name: string) =>
    chunks.filter(({ facadeModuleId }) => facadeModuleId?.includes(`/starloom/dist/${name}`));
  const all = (of: readonly OutputChunk[]) => new Set(of.flatMap((one) => [...loadedBy(one)]));
  const started = [...entry('commands/up.js'), ...entry('open-gateway.js')];
  const others = entry('commands/').filter((one) => !started.includes(one));
  const [main, gateway] = [all(entry('main.js')), all(started)];
  const [call, other] = [all(entry('commands/call.js')), all(others)];
  const groups = new Map<string, string>();
  for (const chunk of gateway) {
    if (main.has(chunk)) continue;
    const group = call.has(chunk) ? 'shared' : other.has(chunk) ? 'commands' : 'gateway';
    for (const id of chunk.moduleIds) groups.set(id, group);
  }
  return (moduleId) => groups.get(moduleId) ?? null;
}

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
