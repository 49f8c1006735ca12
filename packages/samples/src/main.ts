// Runs the sample that the first argument names. Each loads only the wire that it is served on.

import { createCoder } from './coder.ts';
import { failOneCall } from './flaky.ts';
import { createLibrarian } from './librarian.ts';
import { percy, percyBackup } from './percy.ts';
import { readOptions } from './serve/call.ts';

const [name, ...args] = process.argv.slice(2);
const options = readOptions(args);

switch (name) {
  case 'percy':
    await (await import('./serve/mcp.ts')).serveMcpHttp(percy, options.port);
    break;
  case 'percy-backup':
    (await import('./serve/mcp.ts')).serveMcpStdio(percyBackup);
    break;
  case 'coder':
    await (await import('./serve/lines.ts')).serveLines(createCoder(options.folder));
    break;
  case 'librarian':
    await (await import('./serve/http.ts')).serveHttp(
      createLibrarian(options.folder),
      options.port,
    );
    break;
  case 'flaky':
    await failOneCall();
    break;
  default:
    throw new Error(`There is no sample "${name}"`);
}
