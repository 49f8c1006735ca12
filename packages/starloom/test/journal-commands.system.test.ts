import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runStarloom } from './run-starloom.ts';
import { type RunningGateway, startGateway } from './running-gateway.ts';

describe('commands about what happened', () => {
  let gateway: RunningGateway;
  beforeAll(async () => {
    gateway = await startGateway();
    await gateway.run('call', 'echo', 'say', 'hello');
    await gateway.run('call', 'echo', 'say', 'fail');
  });
  afterAll(() => gateway[Symbol.asyncDispose]());
  const data = async (...args: string[]) => {
    const { stdout, stderr, code } = await gateway.run(...args, '--json');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    return JSON.parse(stdout);
  };

  it('[G32] list calls, show a trace, rates and usage, and find nothing wrong', async () => {
    await expect
      .poll(async () => (await data('calls', '--agent', 'echo')).calls.length, { timeout: 20_000 })
      .toBe(2);
    const { calls } = await data('calls', '--failed', '--since', '1h', '--agent', 'echo');
    expect(calls).toMatchObject([
      { code: 'UPSTREAM_ERROR', principal: 'local', capability: 'say' },
    ]);
    const [{ trace_id }] = calls;
    const listed = await gateway.run('calls', '--agent', 'echo');
    expect(listed.stdout).toMatch(new RegExp(`UPSTREAM_ERROR .* echo\\.say +${trace_id}\n`));
    const trace = await gateway.run('trace', trace_id.slice(0, 8));
    expect(trace.stdout).toMatch(/attempt echo@local .* UPSTREAM_ERROR/);
    expect(trace.stdout).not.toContain('\u001b');
    const { rows } = await data('usage', '--by', 'agent');
    expect(rows).toContainEqual(expect.objectContaining({ key: 'echo', calls: 2, failed: 1 }));
    const top = await data('top');
    expect(top.windows[2]).toMatchObject({ agents: [{ agent_id: 'echo', calls: 2, failed: 1 }] });
    const { ok, findings } = await data('doctor');
    expect(ok).toBe(true);
    expect(findings).toContainEqual(expect.objectContaining({ part: 'journal', status: 'ok' }));
  });

  it('connect a client with a backup, write files to begin with, and complete words', async () => {
    const { folder: cwd } = gateway;
    const run = (...args: string[]) =>
      runStarloom(args, { cwd, env: { STARLOOM_HOME: gateway.home, HOME: cwd } });
    await run('connect', 'cursor', '--apply');
    const file = join(cwd, '.cursor', 'mcp.json');
    const { mcpServers } = JSON.parse(await readFile(file, 'utf8'));
    expect(mcpServers.starloom.url).toBe(`${gateway.url}/mcp`);
    const begun = JSON.parse((await run('init', 'new', '--json')).stdout);
    expect(begun.written).toHaveLength(2);
    const valid = await run('config', 'validate', 'new/starloom.yaml', 'new/agents.yaml');
    expect(valid.code).toBe(0);
    const { stdout } = await run('completion', 'bash');
    expect(stdout).toContain(`'connect') words='claude cursor`);
  });
});
