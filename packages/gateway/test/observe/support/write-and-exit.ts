// Logs as many lines as it is told and leaves at once; `ready` on stdout asks for a line on stdin.

import { once } from 'node:events';
import { RootLog } from '../../../src/observe/log.ts';

const lines = Number(process.argv[2]);
const { log } = new RootLog({ level: 'info' });
process.stdout.write('ready\n');
await once(process.stdin, 'data');
for (let line = 1; line <= lines; line += 1) log.info({ line }, 'written');
process.exit(7);
