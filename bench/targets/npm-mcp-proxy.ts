// mcp-proxy of npm as a library, which is how it forwards HTTP to HTTP: its command starts a child over
// stdio. Its arguments are the folder of installed packages, the upstream and the port to listen on.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Server, type ServerCapabilities } from '@modelcontextprotocol/server';

/** What is used of the package. */
interface McpProxy {
  proxyServer(options: {
    client: Client;
    server: Server;
    serverCapabilities: ServerCapabilities;
  }): Promise<void>;
  startHTTPServer(options: {
    createServer: () => Promise<Server>;
    host: string;
    port: number;
    eventStore: false;
  }): Promise<unknown>;
}

const [packages = '', upstreamUrl = '', port = ''] = process.argv.slice(2);
const file = pathToFileURL(join(packages, 'mcp-proxy/dist/index.mjs'));
const { proxyServer, startHTTPServer }: McpProxy = await import(file.href);

const client = new Client({ name: 'mcp-proxy', version: '0' });
await client.connect(new StreamableHTTPClientTransport(new URL(upstreamUrl)));
const serverCapabilities = client.getServerCapabilities() ?? {};

await startHTTPServer({
  async createServer() {
    const server = new Server(
      { name: 'mcp-proxy', version: '0' },
      { capabilities: serverCapabilities },
    );
    await proxyServer({ client, server, serverCapabilities });
    return server;
  },
  host: '127.0.0.1',
  port: Number(port),
  eventStore: false,
});
process.once('SIGTERM', () => process.exit(0));
