import { execFile } from 'node:child_process';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { ManifestInput } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { openGateway, SHARED_KEY } from './gateway.ts';

const execFileAsync = promisify(execFile);

/** An HTTP server that does with a POST what the test says; healthy otherwise. */
async function serve(onPost: RequestListener) {
  const server = createServer((request, response) => {
    if (request.method === 'GET') return void response.writeHead(404).end();
    request.resume();
    request.once('end', () => onPost(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    uri: `http://127.0.0.1:${port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const agent = (agent_id: string, uri: string, protocol = 'http'): ManifestInput => ({
  agent_id,
  endpoint: { transport: 'http', uri, protocol },
  capabilities: [{ name: 'work', streaming: true, input_schema: { type: 'object' } }],
});

const sse = { 'content-type': 'text/event-stream' };
const json = { 'content-type': 'application/json' };
const token = 'event: token\ndata: {"text":"so far "}\n\n';

const HOSTILE: Record<string, RequestListener> = {
  'hangs before headers': () => {},
  'hangs in the middle of a stream': (_, response) => {
    response.writeHead(200, sse).write(token);
  },
  'streams garbage': (_, response) => {
    response.writeHead(200, sse).end('event: token\ndata: {"text":\n\n\u0000\u0001 what');
  },
  'never ends an event': (_, response) => {
    response.writeHead(200, sse);
    const more = () =>
      response.destroyed || response.write('x'.repeat(65_536), () => setImmediate(more));
    more();
  },
  'streams for ever': (_, response) => {
    response.writeHead(200, sse);
    const more = () => response.destroyed || response.write(token, () => setImmediate(more));
    more();
  },
  'ends without a result': (_, response) => {
    response.writeHead(200, sse).end(token);
  },
  'dies in the middle': (_, response) => {
    response.writeHead(200, sse).write(token);
    setImmediate(() => response.destroy());
  },
  'sends 100 MB': (_, response) => {
    response.writeHead(200, json);
    let left = 1600;
    const more = () => {
      left -= 1;
      if (left < 0) response.end();
      else if (!response.destroyed)
        response.write('"'.padEnd(65_536, 'x'), () => setImmediate(more));
    };
    more();
  },
  'answers something else': (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>login</html>');
  },
  'redirects elsewhere': (_, response) => {
    response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end();
  },
  'denies us': (_, response) => {
    response.writeHead(401, json).end('{"secret":"of the agent"}');
  },
};

describe.each(['http', 'mcp'])('an agent over %s', (protocol) => {
  it.each(Object.entries(HOSTILE))(
    'that %s is answered for by another, in good time',
    async (_, onPost) => {
      await using bad = await serve(onPost);
      await using good = await serve((_, response) => {
        response.writeHead(200, json).end('{"answer":"saved"}');
      });
      await using gateway = await openGateway([
        { ...agent('bad', bad.uri, protocol), fallbacks: ['good'] },
        agent('good', good.uri),
      ]);
      const payload = await gateway.call({
        agent_id: 'bad',
        capability: 'work',
        stream: true,
        timeout_ms: 1_000,
      });
      expect(payload).toMatchObject({
        ok: true,
        agent_id: 'good',
        result: { answer: 'saved' },
        attempts: [
          { agent_id: 'bad', ok: false },
          { agent_id: 'good', ok: true },
        ],
      });
      expect(JSON.stringify(payload)).not.toContain('of the agent');
    },
  );
});

describe('an agent that the gateway started and that calls back without a trace', () => {
  /** Calls an agent at the gateway of this URL; answers with what it said, or why it did not. */
  const CALL = `
    const call = async (url, agent_id) => {
      const args = { agent_id, capability: 'work', task: url };
      const response = await fetch(url + '/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: 'Bearer ' + process.env.KEY,
          ...(process.env.SAYS_MARK && { 'x-starloom-process': process.env.STARLOOM_PROCESS }),
        },
        body: JSON.stringify({
          jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'fabric.call', arguments: args },
        }),
      });
      const { ok, result, error } = (await response.json()).result.structuredContent;
      return ok ? result.answer : error.code;
    };`;
  /** Calls itself at the gateway that its task names; answers how deep that went, and why it ended. */
  const SCRIPT = `${CALL}
    require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
      const { envelope } = JSON.parse(line);
      const said = await call(envelope.input.task, envelope.target.agent_id);
      const answer = said.includes(' ') ? said : envelope.hop.depth + ' ' + said;
      console.log(JSON.stringify({ type: 'final', data: { answer } }));
      process.exit(0);
    });`;
  const env = { KEY: SHARED_KEY };
  const looping = (agent_id: string, reentrant: boolean, more = {}): ManifestInput => ({
    agent_id,
    endpoint: {
      transport: 'process',
      command: process.execPath,
      args: ['-e', SCRIPT],
      env: { ...env, ...more },
    },
    capabilities: [{ name: 'work', reentrant }],
  });
  const open = async (more = {}) => {
    const agents = [looping('deep', true, more), looping('round', false, more)];
    const gateway = await openGateway(agents);
    const work = async (agent_id: string, task = gateway.url) => {
      const { result } = await gateway.call({ agent_id, capability: 'work', task });
      return result.answer;
    };
    return { work, url: gateway.url, [Symbol.asyncDispose]: gateway[Symbol.asyncDispose] };
  };

  it('is as deep as its calls are, and closes no cycle', async () => {
    await using gateway = await open({ SAYS_MARK: 'yes' });
    expect(await gateway.work('deep')).toBe('5 RECURSION_LIMIT');
    expect(await gateway.work('round')).toBe('1 RECURSION_LIMIT');
  });

  it.runIf(process.platform === 'linux')(
    'is known by its connection when it says nothing of itself, and others with its key are not it',
    async () => {
      await using gateway = await open();
      expect(await gateway.work('deep')).toBe('5 RECURSION_LIMIT');
      expect(await gateway.work('round')).toBe('1 RECURSION_LIMIT');
      // While the agent waits for this server, somebody else makes the call that it may not make.
      await using elsewhere = await serve(async (_, response) => {
        const script = `${CALL} call('${gateway.url}', 'round').then(console.log);`;
        const { stdout } = await execFileAsync(process.execPath, ['-e', script], { env });
        const structuredContent = { ok: true, result: { answer: `other: ${stdout.trim()}` } };
        response.writeHead(200, json).end(JSON.stringify({ result: { structuredContent } }));
      });
      expect(await gateway.work('round', elsewhere.uri)).toBe('other: 1 RECURSION_LIMIT');
    },
  );
});
