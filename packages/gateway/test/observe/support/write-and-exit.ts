// Writes as many lines to stderr as it is told and leaves at once. It says `ready` on stdout, and
// begins when something comes on stdin.

import { once } from 'node:events';
import { LineSink } from '../../../src/observe/log.ts';

const lines = Number(process.argv[2]);
const sink = new LineSink();
process.stdout.write('ready\n');
await once(process.stdin, 'data');
for (let line = 1; line <= lines; line += 1) sink.write(`${line} ${'.'.repeat(90)}\n`);
process.exit(7);
