import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FabricError } from '@starloom/core';
import { definePlugin, defineTool, type ITool, type PluginHost } from '@starloom/sdk';
import { z } from 'zod';
import { FabricGateway } from './fabric-gateway.ts';

export const fabricConfigSchema = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Of the gateway, without /mcp; the variable STARLOOM_URL by default'),
  key: z
    .string()
    .regex(/^(?:env|file):.+$/, 'expected env:NAME or file:PATH')
    .optional()
    .describe('env:NAME or file:PATH; the variable STARLOOM_KEY by default'),
  timeout_ms: z.int().positive().default(60_000).describe('Of one attempt at an agent'),
});

const USUAL_URL = 'http://127.0.0.1:7420';

/** Other agents, through a gateway. What they say is untrusted. */
export default definePlugin({
  name: 'fabric',
  config: fabricConfigSchema,
  async setup({ url, key, timeout_ms }, host: PluginHost) {
    const gateway = new FabricGateway({
      url: url ?? host.env.STARLOOM_URL ?? USUAL_URL,
      key: await readKey(key, host),
      timeoutMs: timeout_ms,
    });
    return { tools: [agentsTool(gateway), callTool(gateway)], close: () => gateway.close() };
  },
});

function agentsTool(gateway: FabricGateway): ITool {
  return defineTool({
    name: 'fabric:agents',
    description: 'Lists other agents that can be called, with what each can do.',
    command: 'agents',
    effect: 'read',
    parameters: z.strictObject({
      capability: z.string().min(1).optional().describe('Only agents that have it'),
    }),
    execute: (args, context) => gateway.agents(args, context),
  });
}

function callTool(gateway: FabricGateway): ITool {
  return {
    ...defineTool({
      name: 'fabric:call',
      description: 'Gives a task to another agent and waits for its answer.',
      command: 'call',
      effect: 'act',
      targets: ['agent_id', 'capability'],
      timeoutMs: gateway.longestCallMs,
      parameters: z.strictObject({
        agent_id: z.string().min(1).describe('As fabric:agents lists it'),
        capability: z.string().min(1).describe('Which of its capabilities'),
        task: z.string().min(1).optional().describe('What it shall do, in words'),
        arguments: z.record(z.string(), z.unknown()).optional().describe('Where it wants some'),
      }),
      execute: (args, context) => gateway.call(args, context),
    }),
    source: 'agent:fabric',
  };
}

const USUAL = 'env:STARLOOM_KEY';

/** What `env:NAME` or `file:PATH` stands for; without a reference there may be none. */
async function readKey(
  reference: string | undefined,
  { env, folder }: PluginHost,
): Promise<string | undefined> {
  const [, kind, name = ''] = /^(env|file):(.+)$/.exec(reference ?? USUAL) ?? [];
  const found =
    kind === 'env'
      ? env[name]
      : await readFile(resolve(folder, name), 'utf8').catch(() => undefined);
  const key = found?.trim();
  if (key || reference === undefined) return key || undefined;
  throw new FabricError('BAD_INPUT', `The key ${reference} of the fabric plugin is not there`, {
    details: { reason: 'no_key', reference, fix: 'set the variable, or write the file' },
  });
}
