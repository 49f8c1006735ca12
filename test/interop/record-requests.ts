// Stands in front of an MCP server on standard input and output and appends every message that the
// server receives to a file: `node record-requests.ts <file> <command> [args]`. The id of the
// server's process is in `<file>.pid`.

import { spawn } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [file = '', command = '', ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'] });
writeFileSync(`${file}.pid`, String(server.pid));
const messages = createInterface({ input: process.stdin });
messages.on('line', (line) => {
  appendFileSync(file, `${line}\n`);
  server.stdin.write(`${line}\n`);
});
messages.on('close', () => server.stdin.end());
process.on('SIGTERM', () => server.kill());
server.on('exit', (code) => process.exit(code ?? 1));
server.stdin.on('error', () => {});
