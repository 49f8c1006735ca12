import { PassThrough } from 'node:stream';
import { defineTool } from '@starloom/sdk';
import { readLines } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { StdioTransport, serveMcpStdio } from '../../src/mcp/server/serve-stdio.ts';
import { openFace } from './fixtures/face-world.ts';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'raw', version: '0' },
  },
};
const CALL = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'test.slow' } };

/** An agent with a tool that answers when it may. */
async function slowWorld() {
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const slow = defineTool({
    name: 'test:slow',
    description: 'Answers when it may',
    parameters: z.strictObject({}),
    effect: 'read',
    async execute() {
      begun.resolve();
      await release.promise;
      return 'at last';
    },
  });
  const mcp = { expose_tools: ['test:slow'] };
  const world = await openFace({ agent: { mcp }, tools: [slow] });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = serveMcpStdio(world.face, input, output);
  const write = (message: object) => input.write(`${JSON.stringify(message)}\n`);
  return { world, input, output, served, write, begun: begun.promise, release: release.resolve };
}

async function answersIn(output: PassThrough): Promise<Record<string, unknown>[]> {
  output.end();
  const answers: Record<string, unknown>[] = [];
  for await (const line of readLines(output, { maxLineBytes: 1 << 20 })) {
    answers.push(JSON.parse(line));
  }
  return answers;
}

describe('the stdio face of an agent', () => {
  it('answers what was asked before its input ended, then closes', async () => {
    const { world, input, output, served, write, begun, release } = await slowWorld();
    await using _ = world;
    write(INITIALIZE);
    write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    write(CALL);
    input.end();
    await begun;
    release();
    await served.closed;
    expect(await answersIn(output)).toMatchObject([
      { id: 1, result: { serverInfo: { name: 'openstarry-coder' } } },
      { id: 2, result: { content: [{ type: 'text', text: 'at last' }] } },
    ]);
  });

  it('gives what runs a moment when it is closed, and takes nothing new', async () => {
    const { world, output, served, write, begun, release } = await slowWorld();
    await using _ = world;
    write(INITIALIZE);
    write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    write(CALL);
    await begun;
    const closed = served.close();
    write({ ...CALL, id: 3 });
    release();
    await closed;
    const ids = (await answersIn(output)).map(({ id }) => id);
    expect(ids).toEqual([1, 2]);
  });

  it('has nothing to wait for when nothing was asked', async () => {
    const { world, input, output, served } = await slowWorld();
    await using _ = world;
    input.end();
    await served.closed;
    expect(await answersIn(output)).toEqual([]);
  });
});

describe('a connection over a pair of streams', () => {
  function connect(drainMs: number) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const transport = new StdioTransport(input, output, drainMs);
    const received: unknown[] = [];
    transport.onmessage = (message) => void received.push(message);
    const write = (message: object) => input.write(`${JSON.stringify(message)}\n`);
    return { transport, input, output, received, write };
  }

  it('waits no longer than its bound for an answer that does not come', async () => {
    const { transport, input, received, write } = connect(1);
    await transport.start();
    write(CALL);
    input.end();
    await transport.closed;
    expect(received).toMatchObject([{ id: 2 }]);
    await expect(
      transport.send({ jsonrpc: '2.0', id: 2, result: { late: true } }),
    ).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it.each([
    ['was cancelled', [CALL, { method: 'notifications/cancelled', params: { requestId: 2 } }]],
    ['is a subscription', [{ id: 2, method: 'subscriptions/listen', params: {} }]],
  ])('does not wait for what %s', async (_, messages) => {
    const { transport, input, write } = connect(600_000);
    await transport.start();
    for (const message of messages) write({ jsonrpc: '2.0', ...message });
    input.end();
    await transport.closed;
  });

  it('goes on after a line that is no message', async () => {
    const { transport, input, received, write } = connect(1);
    const errors: Error[] = [];
    transport.onerror = (error) => void errors.push(error);
    await transport.start();
    input.write('not JSON\n[1]\n');
    write(CALL);
    await expect.poll(() => received.length, { timeout: 20_000 }).toBe(1);
    expect(errors).toHaveLength(1);
    await transport.close();
  });

  it('ends when its output is closed', async () => {
    const { transport, output } = connect(600_000);
    await transport.start();
    output.destroy(new Error('EPIPE'));
    await transport.closed;
  });

  it('ends at a message that is too large', async () => {
    const { transport, input } = connect(600_000);
    await transport.start();
    input.write('x'.repeat(5 * 2 ** 20));
    await transport.closed;
  });
});
