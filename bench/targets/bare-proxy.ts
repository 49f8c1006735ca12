// What a Node gateway cannot be faster than: node:http in, undici out, bytes passed on unread. It
// knows nothing of MCP, keys, limits, logs or traces.

import { createServer } from 'node:http';
import { Pool } from 'undici';
import { announce } from './announce.ts';

const { origin } = new URL(process.argv[2] ?? '');
const pool = new Pool(origin, { connections: 256 });

await announce(
  createServer((request, response) => {
    const { url = '/', method = 'GET', headers } = request;
    const { host: _, connection: __, ...passed } = headers;
    pool.stream(
      { path: url, method, headers: passed, body: request },
      ({ statusCode, headers: answered }) => response.writeHead(statusCode, answered),
      (error) => {
        if (error) response.destroy(error);
      },
    );
  }),
);
