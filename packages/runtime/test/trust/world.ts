import { createTrace, ROOT_HOP, systemClock } from '@starloom/core';
import type { Block, ITool } from '@starloom/sdk';
import { type TemporaryFolder, temporaryFolder } from '@starloom/testkit';
import type { Origin, ToolRequest } from '../../src/core/seams.ts';
import { createTrust, type TrustOptions, type TrustParts } from '../../src/trust/create-trust.ts';

export interface TrustWorld extends TrustParts, AsyncDisposable {
  readonly folder: string;
  user(text: string): Block;
  read(via: ITool, text: string): Block;
}

/** Labels, verifier and records of an agent whose state is gone when its scope is left. */
export async function openTrust(
  options: Partial<Omit<TrustOptions, 'folder'>> = {},
): Promise<TrustWorld> {
  const folder: TemporaryFolder = await temporaryFolder();
  const trust = createTrust({ clock: systemClock, folder: folder.path, ...options });
  const { labeller } = trust;
  return {
    ...trust,
    folder: folder.path,
    user: (text) => labeller.ofUser([{ type: 'text', text }], options.userTrust),
    read: (tool, text) =>
      labeller.ofTool(tool, { id: '1', name: tool.name, output: [{ type: 'text', text }] }),
    async [Symbol.asyncDispose]() {
      await trust.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export function tool(name: string, options: Partial<ITool> = {}): ITool {
  return {
    name,
    description: `The tool ${name}.`,
    parameters: { type: 'object' },
    execute: () => 'done',
    ...options,
  };
}

/** A tool of the MCP server that its name begins with. */
export function mcpTool(name: string, options: Partial<ITool> = {}): ITool {
  return tool(name, { source: `mcp:${name.slice(0, name.indexOf(':'))}`, ...options });
}

export const readFile = tool('fs:read_file', { effect: 'read' });
export const writeFile = tool('fs:write_file', { effect: 'act', untrusted: false });
export const fetchPage = tool('http:get', { effect: 'read' });
export const runShell = tool('shell:run', { effect: 'act' });

export function request(
  callee: ITool,
  args: unknown,
  blocks: readonly Block[] = [],
  options: { origin?: Origin; sessionId?: string; signal?: AbortSignal } = {},
): ToolRequest {
  return {
    call: { id: 'call-1', name: callee.name, args },
    origin: options.origin ?? 'model',
    sessionId: options.sessionId ?? 'session-1',
    trace: createTrace(),
    hop: ROOT_HOP,
    signal: options.signal ?? new AbortController().signal,
    blocks,
  };
}
