// MCP over standard input and output, by the official SDK.

import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createGreeter } from './mcp-server.ts';

serveStdio(() => createGreeter('MCP over stdio'));
