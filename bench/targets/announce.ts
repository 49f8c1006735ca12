import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a free port, tells our parent as `starloom up --json` does, ends when it is asked to. */
export async function announce(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ready = { event: 'ready', url: `http://127.0.0.1:${port}`, pid: process.pid };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
  process.once('SIGTERM', () => process.exit(0));
}
