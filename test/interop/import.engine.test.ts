import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { type ProgramRun, runProgram } from '@starloom/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../support/connect.ts';
import {
  LAUNCHER,
  type RunningGateway,
  startGateway,
  worldEnvironment,
} from '../support/start-gateway.ts';
import { awaitTools } from './await-tools.ts';
import { everythingAgent, filesystemAgent, memoryAgent } from './real-agents.ts';

describe('the .mcp.json of another client, with fields of its own', () => {
  const stack = new AsyncDisposableStack();
  let gateway: RunningGateway;
  let client: Client;
  let agentsFile: string;
  let before: string;

  beforeAll(async () => {
    const agents = [memoryAgent('memory', '/dev/null')];
    const config = { telemetry: { log_level: 'warn' } };
    gateway = stack.use(await startGateway({ agents, config }));
    client = stack.use(await connect(gateway));
    agentsFile = join(gateway.folder, 'agents.yaml');
    before = await readFile(agentsFile, 'utf8');
  });

  afterAll(() => stack.disposeAsync());

  const importServers = async (servers: object, ...options: string[]): Promise<ProgramRun> => {
    const file = join(gateway.folder, '.mcp.json');
    await writeFile(file, JSON.stringify({ inputs: [], theme: 'dark', mcpServers: servers }));
    const args = [LAUNCHER, 'agents', 'import', file, '--json', ...options];
    const env = worldEnvironment(gateway.folder);
    return runProgram({ command: process.execPath, args, cwd: gateway.folder, env });
  };

  /** As other clients write them down: their own fields beside the ones of the server. */
  const servers = () => ({
    files: { ...serverOf(filesystemAgent('files', gateway.folder)), autoApprove: ['read_file'] },
    everything: { ...serverOf(everythingAgent('everything')), icon: 'star.png', priority: 3 },
  });

  it('[G22] is shown first: nothing changes, and unknown fields are named', async () => {
    const { code, stdout } = await importServers(servers());
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ applied: false });
    const { warnings } = JSON.parse(stdout) as { warnings: unknown[] };
    for (const field of ['priority', 'theme']) expect(JSON.stringify(warnings)).toContain(field);
    expect(await readFile(agentsFile, 'utf8')).toBe(before);
  });

  it('[G22] is not half applied when one of its servers is wrong', async () => {
    const wrong = { broken: { comand: 'node', priority: 3 } };
    const { code } = await importServers({ ...servers(), ...wrong }, '--apply');
    expect(code).not.toBe(0);
    expect(await readFile(agentsFile, 'utf8')).toBe(before);
  });

  it('[G22] is applied as a whole: a backup stays, and the tools work', async () => {
    const { code, stdout } = await importServers(servers(), '--apply');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ applied: true });
    const backups = (await readdir(gateway.folder)).filter((name) => /^agents.*\.bak$/.test(name));
    expect(backups).toHaveLength(1);
    expect(await readFile(join(gateway.folder, backups[0] ?? ''), 'utf8')).toBe(before);
    await awaitTools(client, 'memory.read_graph', 'files.read_text_file', 'everything.echo');
    const echoed = await client.callTool({
      name: 'everything.echo',
      arguments: { message: 'imported' },
    });
    expect(echoed.content).toEqual([{ type: 'text', text: 'Echo: imported' }]);
  });
});

function serverOf({ endpoint }: ReturnType<typeof everythingAgent>) {
  const { command, args } = endpoint;
  return { type: 'stdio', command, args };
}
