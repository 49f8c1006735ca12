// biome-ignore-all lint/suspicious/noTemplateCurlyInString: such texts are what is read here

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EVERYTHING, openWorld } from './agents-world.ts';
import { runStarloom } from './run-starloom.ts';
import { startGateway } from './running-gateway.ts';

const MCP_JSON = JSON.stringify(
  {
    mcpServers: {
      'Every Thing': { command: process.execPath, args: [EVERYTHING, 'stdio'], env: { K: '${K}' } },
      web: { type: 'http', url: 'http://127.0.0.1:9/mcp', surprise: true },
    },
  },
  null,
  2,
);

describe('starloom agents import', () => {
  it('shows what it would add, and writes nothing', async () => {
    await using world = await openWorld({ '.mcp.json': MCP_JSON });
    const { code, stdout, stderr } = await runStarloom(['agents', 'import', '.mcp.json'], {
      cwd: world.folder,
      env: { STARLOOM_HOME: join(world.folder, 'home'), K: 'secret-value' },
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/every-thing +be added .*K: env:K\nweb +be added +http:\/\/127/);
    expect(stderr).toMatch(/warning: \.mcp\.json:\d+:\d+ {2}mcpServers\.web\.surprise/);
    expect(stderr).toMatch(/"Every Thing" is called every-thing/);
    expect(stdout + stderr).not.toContain('secret-value');
    expect(await readdir(world.folder)).toEqual(['.mcp.json']);
  });

  it('refuses an unset variable with file, line and name, and applies nothing', async () => {
    await using world = await openWorld({ '.mcp.json': MCP_JSON });
    const { code, stderr } = await world.run('agents', 'import', '.mcp.json', '--apply');
    expect(code).toBe(78);
    expect(stderr).toMatch(/\.mcp\.json:10:\d+ .*the variable K is not set/);
    expect(await readdir(world.folder)).toEqual(['.mcp.json']);
  });

  it('writes all at once with --apply, keeps a backup, and is done the second time', async () => {
    const before = '# ours\n- agent_id: web\n  endpoint: {transport: stdio, command: x}\n';
    await using world = await openWorld({
      '.mcp.json': MCP_JSON.replace('${K}', 'k'),
      'agents.yaml': before,
    });
    const taken = await world.run('agents', 'import', '.mcp.json', '--apply');
    expect(taken).toMatchObject({ code: 2, stderr: expect.stringContaining('--force') });
    expect(await world.agents()).toBe(before);
    const { code, stdout } = await world.run(
      ...['agents', 'import', '.mcp.json', '--apply', '--force', '--json'],
    );
    expect(code).toBe(0);
    const { backup, agents, applied } = JSON.parse(stdout);
    expect({ applied, actions: agents.map(({ action }: { action: string }) => action) }).toEqual({
      applied: true,
      actions: ['add', 'replace'],
    });
    expect(await readFile(backup, 'utf8')).toBe(before);
    expect(await world.agents()).toMatch(/^# ours\n- agent_id: web\n(.|\n)*agent_id: every-thing/);
    const again = await world.run('agents', 'import', '.mcp.json', '--apply');
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to add') });
  });

  it('shows which of the agents a running gateway reached', async () => {
    await using gateway = await startGateway({ '.mcp.json': MCP_JSON.replace('${K}', 'k') });
    const { code, stdout } = await gateway.run('agents', 'import', '.mcp.json', '--apply');
    expect(code).toBe(0);
    expect(stdout).toMatch(/every-thing +online +\d+ tools/);
    expect(stdout).toMatch(/web +offline +(?!"web" was added)\w/);
  });
});
