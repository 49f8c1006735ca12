// The schema of `agent.toml`: the MCP servers an agent uses, how it shows itself to editors, and what
// it trusts. Whether `allowed_tools` is not set, empty or a list makes a difference all the way down.

import { a2aOptionsSchema } from '@starloom/a2a';
import { revealText, secret, secretOrText } from '@starloom/config';
import { z } from 'zod';
import { TRUST_LEVELS } from '../trust/labels.ts';
import { trustPolicySchema } from '../trust/policy.ts';
import { httpUrl, withUniqueNames } from './schemas.ts';

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
    url: httpUrl.optional().describe('Address of a server over HTTP'),
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
    const complain = (key: string, message: string, fix: string) => {
      const about = { path: [key], input: context.value, params: { fix } };
      context.issues.push({ code: 'custom', message, ...about });
    };
    if (command && url) complain('url', 'a server has "command" or "url"', 'remove one of them');
    if (!command && !url) complain('command', 'missing', 'add "command", or "url" over HTTP');
    if (url && env) complain('env', '"env" is for a server with "command"', 'remove it');
    if (command && headers) complain('headers', '"headers" are for a "url"', 'remove them');
  });

const peerName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,30}$/, 'expected 1 to 31 small letters, digits, "_" and "-"');

const { binding, version, url, origins, allow_private, card_keys } = a2aOptionsSchema.shape;

const peerSchema = z.strictObject({
  name: peerName.describe('Name of the agent; tasks are given to it by this name'),
  card: httpUrl
    .refine((text) => new URL(text).username === '', { error: 'put credentials into "headers"' })
    .describe('Address of its card, or of the agent'),
  headers: settings.describe('Credentials of every request; values may be env:NAME or file:PATH'),
  skills: z.array(z.string().min(1)).optional().describe('Only these skills; default: all'),
  mandate: z
    .boolean()
    .default(false)
    .describe('Hands the mandate of the call on; only to agents that may act for our callers'),
  ...{ binding, version, url, origins, allow_private, card_keys },
});

const directorySchema = z.strictObject({
  url: httpUrl.describe('Address of the gateway'),
  headers: settings.describe('Credentials; values may be env:NAME or file:PATH'),
  agents: z
    .array(z.union([z.literal('*'), peerName]))
    .default([])
    .describe('Agents of the gateway that tasks may be given to; "*" for all that it lists'),
});

const A2A_VERSIONS = ['1.0', '0.3'] as const;

const a2aSchema = z.strictObject({
  versions: z
    .array(z.enum(A2A_VERSIONS))
    .min(1)
    .default([...A2A_VERSIONS])
    .describe('Versions of the protocol that are served'),
  public_url: httpUrl
    .optional()
    .describe('Where others reach the agent, for its card; default: the Host of the request'),
  signing_key: secret()
    .optional()
    .describe('Signs the card: PEM of a private key, Ed25519 or P-256; default: one is drawn'),
  webhook_hosts: z
    .array(z.string().min(1))
    .default([])
    .describe('Hosts of this network that push notifications may go to'),
  approvals: z
    .enum(['caller', 'never'])
    .default('caller')
    .describe(
      'Who approves calls and answers questions of tools in a task: the caller that gave it, or no one',
    ),
  peers: withUniqueNames(z.array(peerSchema), 'two peers have the same name').describe(
    'Agents that tasks may be given to',
  ),
  directory: directorySchema.optional().describe('A gateway whose agents are peers as well'),
});

export const agentTomlSchema = z.strictObject({
  mcp: z
    .strictObject({
      servers: withUniqueNames(z.array(mcpServerSchema), 'two servers have the same name').describe(
        'MCP servers whose tools the agent uses',
      ),
      approvals: z
        .enum(['caller', 'never'])
        .default('caller')
        .describe('Who approves tool calls of MCP clients: the client that called, or no one'),
    })
    .prefault({})
    .describe('What the agent uses over MCP, and who approves its calls there'),
  acp: z
    .strictObject({
      name: z.string().min(1).optional().describe('Shown by editors; default: its name'),
      version: z.string().min(1).optional().describe('Shown by editors; default: its version'),
      mcp_servers: z
        .array(z.string())
        .optional()
        .describe(
          'MCP servers of the editor that are used, by name. []: none. Not set: all, with a warning',
        ),
    })
    .prefault({})
    .describe('The agent as an Agent Client Protocol server'),
  a2a: a2aSchema.prefault({}).describe('The agent among A2A agents'),
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

type Settings = Readonly<Record<string, string>>;

export type PeerConfig = Omit<AgentToml['a2a']['peers'][number], 'headers'> & {
  readonly headers: Settings;
};

export type DirectoryConfig = Omit<NonNullable<AgentToml['a2a']['directory']>, 'headers'> & {
  readonly headers: Settings;
};

/** One `[[mcp.servers]]` with the values of its secrets. */
export type McpServerConfig = Omit<AgentToml['mcp']['servers'][number], 'env' | 'headers'> & {
  readonly env?: Settings;
  readonly headers?: Settings;
};

export function mcpServersOf({ mcp }: AgentToml): McpServerConfig[] {
  return mcp.servers.map(({ env, headers, ...server }) => ({
    ...server,
    ...(env && { env: reveal(env) }),
    ...(headers && { headers: reveal(headers) }),
  }));
}

export function peersOf({ a2a }: AgentToml): {
  readonly peers: readonly PeerConfig[];
  readonly directory: DirectoryConfig | undefined;
} {
  const open = <One extends { headers?: Parameters<typeof reveal>[0] | undefined }>(one: One) => ({
    ...one,
    headers: reveal(one.headers ?? {}),
  });
  return { peers: a2a.peers.map(open), directory: a2a.directory && open(a2a.directory) };
}

function reveal(values: Readonly<Record<string, Parameters<typeof revealText>[0]>>) {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, revealText(value)]),
  );
}
