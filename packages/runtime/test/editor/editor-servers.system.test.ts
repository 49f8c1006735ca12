import { join } from 'node:path';
import { type Log, silentLog } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { scripted } from '../core/world.ts';
import { openEditor } from './editor.ts';

describe('an editor', () => {
  it('brings MCP servers to its session alone, as agent.toml allows them', async () => {
    const server = join(import.meta.dirname, '../mcp/fixtures/tool-server.ts');
    const named = (name: string) => ({
      name,
      command: process.execPath,
      args: ['--conditions=@starloom/source', server],
      env: [],
    });
    const warnings: unknown[] = [];
    const log: Log = { ...silentLog, warn: (fields) => void warnings.push(fields) };
    const toml = { acp: { mcp_servers: ['mine'] } };
    await using editor = await openEditor({ provider: scripted('Hi.'), toml, log, follows: true });
    const sessionId = await editor.open({
      cwd: '/tmp',
      mcpServers: [named('mine'), named('other')],
    });
    await editor.prompt(sessionId, 'Hello.');
    await expect.poll(() => editor.commands.at(-1)?.length).toBeGreaterThan(0);
    const names = editor.commands.at(-1)?.join(' ') ?? '';
    expect(names).not.toContain('other:');
    expect(warnings).toContainEqual(expect.objectContaining({ servers: 'other' }));
    await editor.open({ cwd: '/tmp' });
    await expect.poll(() => editor.commands.at(-1)).toEqual([]);
  });
});
