import type { Readable, Writable } from 'node:stream';
import type { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createServer } from './create-server.ts';
import { tellList } from './list-changes.ts';
import type { AgentMcpFace } from './mcp-face.ts';
import { StdioTransport } from './stdio-transport.ts';

export interface StdioFace {
  /** Resolves when the client is gone, and has the answers to what it asked. */
  readonly closed: Promise<void>;
  /** Takes nothing new, gives what runs a moment to end, and cuts the rest off. */
  close(): Promise<void>;
}

/** After the end of the input; a call has a time limit of its own, usually a shorter one. */
const ANSWER_MS = 30_000;
const DRAIN_MS = 5_000;

/** The agent as MCP server of one client, over a pair of streams. */
export function serveMcpStdio(face: AgentMcpFace, input: Readable, output: Writable): StdioFace {
  const servers = new Set<Server>();
  const transport = new StdioTransport(input, output, ANSWER_MS);
  const handle = serveStdio(
    () => {
      const server = createServer(face, { hasPush: true, headers: {} });
      servers.add(server);
      return server;
    },
    { transport, onerror: (error) => face.log.debug({ error: error.message }, 'mcp') },
  );
  const stop = face.onListChanged((kind) => {
    for (const server of servers) tellList(server, kind);
  });
  return {
    closed: transport.closed.then(stop),
    async close() {
      await transport.finish(DRAIN_MS);
      await handle.close();
    },
  };
}
