// The schema of `agent.toml`: the MCP servers an agent uses, how it shows itself to editors, and what
// it trusts. Whether `allowed_tools` is not set, empty or a list makes a difference all the way down.

import { revealText, secretOrText } from '@starloom/config';
import { z } from 'zod';
import type { McpServerConfig } from '../mcp/client/server-config.ts';
import { TRUST_LEVELS, trustPolicySchema } from '../trust/index.ts';

const settings = z.record(z.string(), secretOrText({ checkText: () => undefined })).optional();

const mcpToolSchema = z.strictObject({
  effect: z.enum(['read', 'act']).optional().describe('Default: by its hints, else its name'),
  targets: z
    .array(z.string())
    .optional()
    .describe('Arguments that say where an act goes; default: by their names and shapes'),
});

const mcpServerSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,30}$/, 'expected 1 to 31 letters, digits, "_" and "-"')
      .describe('Name of the server; its tools are <name>:<tool>'),
    command: z.array(z.string()).min(1).optional().describe('Program and arguments that start it'),
    env: settings.describe('Variables of the program; values may be env:NAME or file:PATH'),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('Address of a server over HTTP'),
    headers: settings.describe('Headers of every request; values may be env:NAME or file:PATH'),
    allowed_tools: z
      .array(z.string())
      .optional()
      .describe(
        'A list: those, "*" for all; their descriptions count as read. []: none. Not set: all of its tools, unvetted, with a warning',
      ),
    tools: z
      .record(z.string(), mcpToolSchema)
      .optional()
      .describe('Effect and targets of single tools, by their names'),
  })
  .check((context) => {
    const { command, url, env, headers } = context.value;
    const complain = (key: string, message: string, fix: string) =>
      context.issues.push({
        code: 'custom',
        message,
        path: [key],
        input: context.value,
        params: { fix },
      });
    if (command && url) complain('url', 'a server has "command" or "url"', 'remove one of them');
    if (!command && !url) complain('command', 'missing', 'add "command", or "url" over HTTP');
    if (url && env) complain('env', '"env" is for a server with "command"', 'remove it');
    if (command && headers) complain('headers', '"headers" are for a "url"', 'remove them');
  });

export const agentTomlSchema = z.strictObject({
  mcp: z
    .strictObject({
      servers: z
        .array(mcpServerSchema)
        .default([])
        .refine((servers) => new Set(servers.map(({ name }) => name)).size === servers.length, {
          error: 'two servers have the same name',
        })
        .describe('MCP servers whose tools the agent uses'),
    })
    .prefault({})
    .describe('What the agent uses over MCP'),
  acp: z
    .strictObject({
      name: z.string().min(1).optional().describe('Shown by editors; default: its name'),
      version: z.string().min(1).optional().describe('Shown by editors; default: its version'),
    })
    .prefault({})
    .describe('The agent as an Agent Client Protocol server'),
  security: z
    .strictObject({
      user_trust: z
        .enum(TRUST_LEVELS)
        .default('vetted')
        .describe('Trust in the messages of the user'),
      ...trustPolicySchema.shape,
    })
    .prefault({})
    .describe('What the agent trusts, and what it asks about before it acts'),
});

export type AgentToml = z.output<typeof agentTomlSchema>;
export type AgentTomlInput = z.input<typeof agentTomlSchema>;

/** The servers with the values of their secrets. */
export function mcpServersOf({ mcp }: AgentToml): McpServerConfig[] {
  return mcp.servers.map(({ env, headers, ...server }) => ({
    ...server,
    ...(env && { env: reveal(env) }),
    ...(headers && { headers: reveal(headers) }),
  }));
}

function reveal(values: Readonly<Record<string, Parameters<typeof revealText>[0]>>) {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, revealText(value)]),
  );
}
