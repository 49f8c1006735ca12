// One gateway in a process of its own, to be killed and paused. Its only argument is JSON: the section
// `jobs`, the state folder and the lease, and for a broken gateway when it ends by itself. Prints its port
// when it serves.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { silentLog } from '@starloom/core';
import { openJobs } from '@starloom/jobs';
import { createRunner, openLocalDoor, serveDoor } from './gateway.ts';

const { jobs, stateFolder, leaseMs, diesAfterMs } = JSON.parse(process.argv[2] ?? '{}');
const engine = await openJobs(jobs, { stateFolder, log: silentLog });
createRunner({ engine, leaseMs }).start();
const server = serveDoor(openLocalDoor(engine)).listen(0, '127.0.0.1');
await once(server, 'listening');
process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
if (diesAfterMs !== undefined) setTimeout(() => process.exit(3), diesAfterMs);
