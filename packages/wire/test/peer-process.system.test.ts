import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { agentAtOtherEnd } from '../src/peer-process.ts';
import { spawnProcess } from '../src/process.ts';

/** Connects by every address, and lets a child in a session of its own do so, too. */
const CLIENT = `
  const [port, ...addresses] = process.argv.slice(1);
  for (const host of addresses) require('node:net').connect(port, host, function () { this.write(host); });
  const child = \`require('node:net').connect(\${port}, '127.0.0.1', function () { this.write('child'); })\`;
  require('node:child_process').spawn(process.execPath, ['-e', child], { detached: true });`;

it.runIf(process.platform === 'linux')(
  'an agent is found at the other end of what it and its children connect, others are not',
  async () => {
    const names = new Map<string, Socket>();
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (name) => names.set(String(name), socket));
    });
    await once(server.listen(0), 'listening');
    const { port, address } = server.address() as AddressInfo;
    const own = connect(port, '127.0.0.1', () => own.write('own'));
    onTestFinished(() => {
      own.destroy();
      server.close();
    });

    const all = ['127.0.0.1', '::ffff:127.0.0.1', '::1'];
    const addresses = address === '::' ? all : all.slice(0, 1);
    const args = ['-e', CLIENT, String(port), ...addresses];
    await using _ = await spawnProcess({ command: process.execPath, args, agentId: 'coder' });
    await expect.poll(() => names.size).toBe(addresses.length + 2);

    const looks = Array.from(names.values(), (socket) => agentAtOtherEnd(socket));
    const found = await Promise.all(looks);
    expect(
      Object.fromEntries([...names.keys()].map((name, index) => [name, found[index]])),
    ).toEqual({
      ...Object.fromEntries([...addresses, 'child'].map((name) => [name, 'coder'])),
      own: undefined,
    });
    const again = Array.from(names.values(), (socket) => agentAtOtherEnd(socket));
    for (const [index, look] of again.entries()) expect(look).toBe(looks[index]);
  },
);
