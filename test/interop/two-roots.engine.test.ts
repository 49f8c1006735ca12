import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import type { ManifestInput } from '@starloom/core';
import { temporaryFolder } from '@starloom/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { connect } from '../support/connect.ts';
import { startGateway } from '../support/start-gateway.ts';
import { awaitTools, PATIENCE } from './await-tools.ts';
import { filesystemAgent } from './real-agents.ts';
import { callsReceivedBy, recorded, serverProcess } from './recorded.ts';

const DECLARED = { capabilities: [{ name: 'read_text_file' }, { name: 'write_file' }] };
const ALONE = { ...DECLARED, fallback: 'none' } as Partial<ManifestInput>;

describe.each([
  ['discovered', {}],
  ['declared with fallback none', ALONE],
])('two filesystem servers with different roots, %s', (_, manifest) => {
  const stack = new AsyncDisposableStack();
  let world: TwoRoots;

  beforeAll(async () => {
    world = stack.use(await openTwoRoots(manifest));
  });

  afterAll(() => stack.disposeAsync());

  afterEach(() => world.expectRightUntouched());

  it('[G22] writes below the root of the one that was asked', async () => {
    const path = join(world.left, 'note.txt');
    const { isError } = await world.callLeft('write_file', { path, content: 'a note' });
    expect(isError ?? false).toBe(false);
    expect(await readFile(path, 'utf8')).toBe('a note');
  });

  it('[G22] is refused a path of the other root by the one that was asked', async () => {
    for (const path of [join(world.right, 'new.txt'), join(world.right, 'kept.txt')]) {
      const { isError, content } = await world.callLeft('write_file', {
        path,
        content: 'intruder',
      });
      expect(isError).toBe(true);
      expect(content).toEqual([
        { type: 'text', text: expect.stringMatching(/^Access denied - path outside/) },
      ]);
    }
    const { structuredContent } = await world.client.callTool({
      name: 'fabric.call',
      arguments: {
        agent_id: 'left',
        capability: 'write_file',
        arguments: { path: join(world.right, 'new.txt'), content: 'intruder' },
      },
    });
    expect(structuredContent).toMatchObject({
      ok: false,
      error: { code: 'UPSTREAM_ERROR', details: { reason: 'tool_error' } },
    });
    expect(JSON.stringify(structuredContent)).toContain('Access denied - path outside');
  });

  it('[G22] is not served by the other when the tool does not exist', async () => {
    await expect(world.callLeft('no_such_tool', { path: world.right })).rejects.toThrow();
    const { structuredContent } = await world.client.callTool({
      name: 'fabric.call',
      arguments: { agent_id: 'left', capability: 'no_such_tool', arguments: { path: world.right } },
    });
    expect(structuredContent).toMatchObject({ error: { code: 'CAPABILITY_NOT_FOUND' } });
  });

  it('[G22] is not served by the other when time runs out', async () => {
    const path = pipeIn(world.left, 'never-written');
    const { structuredContent } = await world.client.callTool({
      name: 'fabric.call',
      arguments: {
        agent_id: 'left',
        capability: 'read_text_file',
        arguments: { path },
        timeout_ms: 500,
      },
    });
    expect(structuredContent).toMatchObject({ ok: false, error: { code: 'TIMEOUT' } });
    await rm(path);
  });

  it('[G22] is not served by the other when its server dies during the call', async () => {
    const path = pipeIn(world.left, 'never-written-either');
    const before = (await callsReceivedBy(world.leftRecord)).length;
    const answer = world.callLeft('read_text_file', { path });
    await vi.waitFor(async () => {
      expect((await callsReceivedBy(world.leftRecord)).length).toBeGreaterThan(before);
    }, PATIENCE);
    await rm(path);
    process.kill(await serverProcess(world.leftRecord), 'SIGKILL');
    expect((await answer).isError).toBe(true);
  });

  it('[G22] works again with its own root after that', async () => {
    await vi.waitFor(async () => {
      const path = join(world.left, 'note.txt');
      const { content } = await world.callLeft('read_text_file', { path });
      expect(content).toEqual([{ type: 'text', text: 'a note' }]);
    }, PATIENCE);
  });
});

describe('two filesystem servers that declare the same tools', () => {
  it('[G22] takes the refusal of the one that was asked for the answer', async () => {
    await using world = await openTwoRoots(DECLARED);
    const path = join(world.right, 'new.txt');
    const given = { path, content: 'intruder' };
    const { isError, content } = await world.callLeft('write_file', given);
    expect(isError).toBe(true);
    expect(content).toEqual([
      { type: 'text', text: expect.stringMatching(/^Access denied - path outside/) },
    ]);
    await world.expectRightUntouched();
  });
});

interface TwoRoots extends AsyncDisposable {
  /** The roots of the agents of these names. */
  readonly left: string;
  readonly right: string;
  /** What `left` received. */
  readonly leftRecord: string;
  readonly client: Client;
  callLeft(tool: string, given: Record<string, unknown>): ReturnType<Client['callTool']>;
  expectRightUntouched(): Promise<void>;
}

async function openTwoRoots(manifest: Partial<ManifestInput>): Promise<TwoRoots> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await temporaryFolder());
  const [left, right] = [join(path, 'left'), join(path, 'right')];
  const [leftRecord, rightRecord] = [join(path, 'left.jsonl'), join(path, 'right.jsonl')];
  await mkdir(left);
  await mkdir(right);
  await writeFile(join(right, 'kept.txt'), 'of the right root');
  const gateway = stack.use(
    await startGateway({
      config: { telemetry: { log_level: 'warn' } },
      agents: [
        { ...recorded(filesystemAgent('left', left), leftRecord), ...manifest },
        { ...recorded(filesystemAgent('right', right), rightRecord), ...manifest },
      ],
    }),
  );
  const client = stack.use(await connect(gateway));
  await awaitTools(client, 'left.write_file', 'right.write_file');
  const owned = stack.move();
  return {
    left,
    right,
    leftRecord,
    client,
    callLeft: (tool, given) => client.callTool({ name: `left.${tool}`, arguments: given }),
    async expectRightUntouched() {
      expect(await callsReceivedBy(rightRecord)).toEqual([]);
      expect(await readdir(right)).toEqual(['kept.txt']);
      expect(await readFile(join(right, 'kept.txt'), 'utf8')).toBe('of the right root');
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A named pipe: a server that reads it waits for ever. */
function pipeIn(folder: string, name: string): string {
  const path = join(folder, name);
  execFileSync('mkfifo', [path]);
  return path;
}
