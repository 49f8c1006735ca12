import { childEnvironment, type ManagedProcess, spawnProcess } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { LAUNCHER, scratch } from './run-starloom.ts';
import { startGateway } from './running-gateway.ts';

type Message = { id?: number; method?: string; result?: object; error?: object; params?: object };

/** `starloom rpc --stdio` as an agent starts it. */
class StdioClient implements AsyncDisposable {
  readonly process: ManagedProcess;
  readonly messages: Message[] = [];
  readonly ended: Promise<void>;
  #nextId = 1;

  static async start(home: string, env: Record<string, string> = {}): Promise<StdioClient> {
    return new StdioClient(
      await spawnProcess({
        command: process.execPath,
        args: [LAUNCHER, 'rpc', '--stdio'],
        cwd: home,
        env: childEnvironment({ extra: { STARLOOM_HOME: home, ...env } }),
      }),
    );
  }

  private constructor(child: ManagedProcess) {
    this.process = child;
    this.ended = this.#read();
  }

  async send(method: string, params: object): Promise<number> {
    const id = this.#nextId;
    this.#nextId += 1;
    await this.process.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return id;
  }

  async ask(method: string, params: object): Promise<Message> {
    const id = await this.send(method, params);
    const find = () => this.messages.find((message) => message.id === id);
    await expect.poll(find, { timeout: 20_000 }).toBeDefined();
    return find() ?? {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop();
  }

  async #read(): Promise<void> {
    for await (const line of this.process.lines()) this.messages.push(JSON.parse(line));
  }
}

const SESSION = { session_id: 'shared', mode: 'cas' };
const WRITE = { session_id: 'shared', update: { n: 1 } };

describe('starloom rpc --stdio without a gateway', () => {
  it('serves the coordination plane in order, and says that it is alone', async () => {
    await using place = await scratch({});
    await using client = await StdioClient.start(place.folder);
    await client.send('mcp.discover', {});
    await client.send('agent_registry.register', { agent_id: 'a', capabilities: ['x'] });
    await client.send('session_manager.create', SESSION);
    await client.send('context_coordinator.update', WRITE);
    await client.send('context_coordinator.get', { session_id: 'shared' });
    client.process.stdin.end();
    await client.ended;
    expect(client.messages.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
    expect(client.messages[4]?.result).toMatchObject({ context: { n: 1 } });
    expect(await client.process.exited).toMatchObject({ code: 0 });
    expect(client.process.stderrTail()).toMatch(/alone.*starloom up/);
  });

  it('does not serve alone when STARLOOM_URL names a gateway that is not there', async () => {
    await using place = await scratch({});
    const env = { STARLOOM_URL: 'http://127.0.0.1:9' };
    await using client = await StdioClient.start(place.folder, env);
    expect(await client.process.exited).toMatchObject({ code: 69 });
    expect(client.process.stderrTail()).toMatch(/127\.0\.0\.1:9(.|\n)*fix:/);
  });
});

describe('starloom rpc --stdio beside a gateway', () => {
  it('[C1] meets the other clients of the gateway, and receives what they do', async () => {
    await using gateway = await startGateway();
    await using writer = await StdioClient.start(gateway.home);
    await using reader = await StdioClient.start(gateway.home);
    expect(
      await writer.ask('session_manager.create', { ...SESSION, agent_id: 'writer' }),
    ).toHaveProperty('result');
    const member = { session_id: 'shared', agent_id: 'reader' };
    expect(await reader.ask('session_manager.join', member)).toHaveProperty('result');
    expect(await reader.ask('context_coordinator.subscribe', member)).toHaveProperty('result');
    expect(await writer.ask('context_coordinator.update', WRITE)).toHaveProperty('result');
    const told = () => reader.messages.filter(({ method }) => method?.endsWith('.update'));
    await expect.poll(told, { timeout: 20_000 }).toMatchObject([{ params: { update: { n: 1 } } }]);
    expect(writer.process.stderrTail()).toBe('');
  });

  it('answers everything that was asked before the input ended, also what it cannot read', async () => {
    await using gateway = await startGateway();
    await using client = await StdioClient.start(gateway.home);
    await client.process.write('no json\n');
    client.process.stdin.write(Buffer.from([0xff, 0x0a]));
    await client.send('mcp.discover', {});
    client.process.stdin.end();
    await client.ended;
    expect(await client.process.exited).toMatchObject({ code: 0 });
    expect(client.messages.filter(({ error }) => error)).toHaveLength(2);
    expect(client.messages.filter(({ result }) => result)).toMatchObject([{ id: 1 }]);
  });

  it('ends with a message when the gateway goes away', async () => {
    const gateway = await startGateway();
    await using client = await StdioClient.start(gateway.home);
    await client.ask('mcp.discover', {});
    await gateway[Symbol.asyncDispose]();
    expect(await client.process.exited).toMatchObject({ code: 69 });
    expect(client.process.stderrTail()).toMatch(/gateway stopped answering(.|\n)*fix:/);
  });

  it('ends, and does not blame the gateway, when no process reads its output any more', async () => {
    await using gateway = await startGateway();
    await using client = await StdioClient.start(gateway.home);
    await client.ask('mcp.discover', {});
    client.process.stdout.destroy();
    await client.ended.catch(() => {});
    for (let count = 0; count < 2; count += 1) await client.send('mcp.discover', {});
    expect(await client.process.exited).toMatchObject({ code: 0 });
    expect(client.process.stderrTail()).not.toContain('gateway');
  });

  it('gives its place back when it is asked to stop', async () => {
    await using gateway = await startGateway();
    await using client = await StdioClient.start(gateway.home);
    await client.ask('mcp.discover', {});
    process.kill(client.process.pid, 'SIGTERM');
    expect(await client.process.exited).toMatchObject({ code: 0 });
  });
});
