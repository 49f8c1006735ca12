// How the client keeps its program running, which only a process of its own can show.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { FakeGateway } from './support/fake-gateway.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const PRELUDE = `
  import { CoordinationClient, openCoordinationClient, webSocketConnect } from '@starloom/coordination-client';
  const connect = webSocketConnect({ url: process.env.GATEWAY_URL });
  const backoffMs = { least: 10, most: 100 };
  const options = { connect, agentId: 'a', backoffMs };
`;

/** Runs a program, and hears what it says. */
class Program implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #ended: Promise<unknown[]>;
  said = '';

  constructor(url: string, code: string) {
    const args = ['--conditions=@starloom/source', '--input-type=module-typescript', '-'];
    this.#child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { GATEWAY_URL: url },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout.on('data', (data) => {
      this.said += data;
    });
    this.#ended = once(this.#child, 'exit');
    this.#child.stdin.end(`${PRELUDE}\n${code}`);
  }

  async hear(words: string): Promise<void> {
    await expect.poll(() => this.said).toContain(words);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async end(): Promise<unknown> {
    const [code] = await this.#ended;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

it('keeps running while the gateway is away, with its subscriptions and requests', async () => {
  await using gateway = await FakeGateway.open();
  const { port, url } = gateway;
  gateway.answers['context_coordinator.subscribe'] = subscribed;
  await using program = new Program(
    url,
    `const client = await openCoordinationClient(options);
    client.on('disconnected', async () => {
      console.log('is away');
      console.log('was answered', await client.call('mcp.status', {}));
    });
    const update = ({ version }) => console.log('was told', version);
    await client.subscribe({ session_id: 's' }, { update });
    console.log('follows');`,
  );
  await program.hear('follows');
  await gateway[Symbol.asyncDispose]();
  await program.hear('is away');
  await using back = await FakeGateway.open({ port });
  back.answers['context_coordinator.subscribe'] = subscribed;
  await program.hear('was answered');
  const params = { subscription_id: 's', session_id: 's', update: {}, version: 2, cursor: 2 };
  back.say({ method: 'context_coordinator.update', params });
  await program.hear('was told 2');
});

function subscribed() {
  return { result: { subscription_id: 's', version: 1, cursor: 1 } };
}

const CLOSED = `
  const closedAt = performance.now();
  process.on('exit', () => console.log('ended', performance.now() - closedAt < 5_000 ? 'soon' : 'late'));
`;

it.each([
  ['connected', `const client = await openCoordinationClient(options); ${CLOSED} client.close();`],
  [
    'away',
    `const client = await openCoordinationClient(options);
    client.on('disconnected', () => { ${CLOSED} client.close(); });
    client.call('cut.me', {}).catch(() => {});`,
  ],
])('ends when a client is closed that is %s', async (_, code) => {
  await using gateway = await FakeGateway.open();
  gateway.answers['cut.me'] = () => void gateway.cut();
  await using program = new Program(gateway.url, code);
  expect(await program.end()).toBe(0);
  await program.hear('ended soon');
});

it('ends when a client is closed that is being connected', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const connected = once(silent, 'connection');
  const { port } = silent.address() as AddressInfo;
  await using program = new Program(
    `ws://127.0.0.1:${port}/rpc/ws`,
    `const client = new CoordinationClient(options);
    process.on('SIGUSR2', () => { ${CLOSED} client.close(); });
    client.start().catch(() => {});`,
  );
  await connected;
  program.signal('SIGUSR2');
  expect(await program.end()).toBe(0);
  await program.hear('ended soon');
  silent.close();
});
