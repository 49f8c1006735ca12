import { finished, type Readable, type Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { Server } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { createServer } from './create-server.ts';
import { tellList } from './list-changes.ts';
import type { McpFace } from './mcp-face.ts';

export interface StdioFace {
  /** Resolves when the client is gone. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

const MAX_MESSAGE_BYTES = 4_194_304;

/** The agent as MCP server of one client, over a pair of streams. */
export function serveMcpStdio(face: McpFace, input: Readable, output: Writable): StdioFace {
  const servers = new Set<Server>();
  const handle = serveStdio(
    () => {
      const server = createServer(face, { hasPush: true, headers: {} });
      servers.add(server);
      return server;
    },
    {
      transport: new StdioServerTransport(input, output, { maxBufferSize: MAX_MESSAGE_BYTES }),
      onerror: (error) => face.log.debug({ error: error.message }, 'mcp'),
    },
  );
  const stop = face.onListChanged((kind) => {
    for (const server of servers) tellList(server, kind);
  });
  const end = async () => {
    stop();
    await handle.close();
  };
  const closed = promisify(finished)(input, { writable: false }).then(end, end);
  return { closed, close: end };
}
