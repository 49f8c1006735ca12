import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import type { ManifestInput } from '@starloom/core';
import { describeWithPeer, temporaryFolder } from '@starloom/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../support/connect.ts';
import { startGateway } from '../support/start-gateway.ts';
import { preparePythonPeers } from './clients.ts';
import { expectListedAs, listDirectly } from './listed-directly.ts';
import { pythonAgent } from './real-agents.ts';

describeWithPeer('servers of the Python package index', preparePythonPeers, (python) => {
  const stack = new AsyncDisposableStack();
  let repository: string;
  let page: string;
  let agents: readonly ManifestInput[];
  let client: Client;

  beforeAll(async () => {
    repository = stack.use(await temporaryFolder()).path;
    git(repository, 'init', '--quiet');
    await writeFile(join(repository, 'a.txt'), 'a');
    page = stack.use(await servePage('served on loopback')).url;
    agents = [
      pythonAgent('git', python, 'mcp_server_git', '--repository', repository),
      pythonAgent('time', python, 'mcp_server_time', '--local-timezone', 'UTC'),
      pythonAgent('fetch', python, 'mcp_server_fetch', '--allow-private-ips'),
    ];
    const config = { telemetry: { log_level: 'warn' } };
    client = stack.use(await connect(stack.use(await startGateway({ agents, config }))));
  });

  afterAll(() => stack.disposeAsync());

  const call = (name: string, given: Record<string, unknown>) =>
    client.callTool({ name, arguments: given });

  it('[G22] are listed with what they say about their tools', async () => {
    for (const agent of agents) {
      const direct = await listDirectly(agent);
      expect(direct.size).toBeGreaterThan(0);
      await expectListedAs(client, agent, direct);
    }
  });

  it('[G22] mcp-server-git shows the status of a repository, and commits', async () => {
    const status = await call('git.git_status', { repo_path: repository });
    expect(status.content).toMatchObject([{ text: expect.stringContaining('a.txt') }]);
    await call('git.git_add', { repo_path: repository, files: ['a.txt'] });
    const message = 'a commit through the gateway';
    await call('git.git_commit', { repo_path: repository, message });
    expect(git(repository, 'log', '--format=%s').trim()).toBe(message);
  });

  it('[G22] mcp-server-git refuses another repository in its own words', async () => {
    await using other = await temporaryFolder();
    const { isError, content, _meta } = await call('git.git_status', { repo_path: other.path });
    expect(isError).toBe(true);
    expect(content).toMatchObject([{ text: expect.stringContaining('is outside the allowed') }]);
    expect(_meta).toMatchObject({
      'io.starloom/error': { error: { details: { reason: 'tool_error' } } },
    });
  });

  it('[G22] mcp-server-time converts between time zones', async () => {
    const { content } = await call('time.convert_time', {
      source_timezone: 'UTC',
      time: '12:00',
      target_timezone: 'Asia/Kolkata',
    });
    expect(content).toMatchObject([{ text: expect.stringContaining('17:30') }]);
  });

  it('[G22] mcp-server-fetch reads a page, and says what it cannot read', async () => {
    const { content } = await call('fetch.fetch', { url: page });
    expect(content).toMatchObject([{ text: expect.stringContaining('served on loopback') }]);
    const missing = await call('fetch.fetch', { url: `${page}missing` });
    expect(missing.isError).toBe(true);
    expect(missing.content).toMatchObject([{ text: expect.stringContaining('404') }]);
  });
});

function git(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' });
}

/** Serves plain text at `/`; everything else, robots.txt too, is missing. */
async function servePage(text: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/' ? 200 : 404, { 'content-type': 'text/plain' });
    response.end(request.url === '/' ? text : '');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/`, [Symbol.asyncDispose]: close };
}
