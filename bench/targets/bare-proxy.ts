// What a Node gateway cannot be faster than: node:http in, undici out, bytes passed on unread. It
// knows nothing of MCP, keys, limits, logs or traces. Its arguments are the origin, and `/path=origin` for
// paths that another one serves.

import { createServer } from 'node:http';
import { Pool } from 'undici';
import { announce } from './announce.ts';

const [first = '', ...others] = process.argv.slice(2);
const openPool = (url: string) => new Pool(new URL(url).origin, { connections: 256 });
const pool = openPool(first);
const pools = new Map(
  others.map((pair) => {
    const [path = '', url = ''] = pair.split('=');
    return [path, openPool(url)];
  }),
);

await announce(
  createServer((request, response) => {
    const { url = '/', method = 'GET', headers } = request;
    const { host: _, connection: __, ...passed } = headers;
    (pools.get(url) ?? pool).stream(
      { path: url, method, headers: passed, body: request },
      ({ statusCode, headers: answered }) => response.writeHead(statusCode, answered),
      (error) => {
        if (error) response.destroy(error);
      },
    );
  }),
);
