// Runs the sample that the first argument names. Each loads only the wire that it is served on.

import { createCoder } from './coder.ts';
import { failOneCall } from './flaky.ts';
import { createLibrarian } from './librarian.ts';
import { percy, percyBackup } from './percy.ts';
import { readOptions } from './serve/call.ts';

const [name = '', ...args] = process.argv.slice(2);
const { port, folder } = readOptions(args);

const SAMPLES: Readonly<Record<string, () => Promise<void>>> = {
  percy: async () => (await import('./serve/mcp.ts')).serveMcpHttp(percy, port),
  'percy-backup': async () => (await import('./serve/mcp.ts')).serveMcpStdio(percyBackup),
  coder: async () => (await import('./serve/lines.ts')).serveLines(createCoder(folder)),
  librarian: async () => (await import('./serve/http.ts')).serveHttp(createLibrarian(folder), port),
  flaky: failOneCall,
};

const run = SAMPLES[name];
if (!run) throw new Error(`There is no sample "${name}"`);
await run();
