// What a server on standard input and output lists to a client that starts it, without a gateway.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { ManifestInput } from '@starloom/core';
import { expect } from 'vitest';
import { awaitTools } from './await-tools.ts';

/** Its tools, by name. */
export async function listDirectly({ endpoint }: ManifestInput): Promise<Map<string, unknown>> {
  const { command = '', args = [], env = {} } = endpoint;
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ command, args, env, stderr: 'ignore' }));
  try {
    const { tools } = await client.listTools();
    return new Map(tools.map((tool) => [tool.name, toldAbout(tool)]));
  } finally {
    await client.close();
  }
}

/** Waits until the gateway lists every tool of the agent, with all that the server says about it. */
export async function expectListedAs(
  client: Client,
  agent: ManifestInput,
  direct: ReadonlyMap<string, unknown>,
): Promise<void> {
  const nameOf = (name: string) => `${agent.agent_id}.${name}`;
  const tools = await awaitTools(client, ...[...direct.keys()].map(nameOf));
  const listed = new Map(tools.map((tool) => [tool.name, toldAbout(tool)]));
  for (const [name, told] of direct) expect([name, listed.get(nameOf(name))]).toEqual([name, told]);
}

function toldAbout(tool: Awaited<ReturnType<Client['listTools']>>['tools'][number]) {
  const { title, description, inputSchema, outputSchema, annotations, icons, _meta } = tool;
  return { title, description, inputSchema, outputSchema, annotations, icons, _meta };
}
