import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenedPlugin, openPlugin } from './open-plugin.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const refused = (code: string, reason?: string) =>
  expect.objectContaining({
    code,
    ...(reason && { details: expect.objectContaining({ reason }) }),
  });

async function serve(handler: Handler) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('the http plugin', () => {
  let http: OpenedPlugin;

  beforeEach(async () => {
    const config = { allow: ['127.0.0.1'], max_bytes: 1_000, timeout_ms: 5_000, max_redirects: 2 };
    http = await openPlugin('http', { folder: '/', config });
  });

  afterEach(() => http[Symbol.asyncDispose]());

  it('fetches text, and says where it is from and what it is', async () => {
    await using server = await serve((request, response) => {
      response.setHeader('content-type', 'text/html; charset=iso-8859-1');
      response.end(
        Buffer.from(`${request.headers.accept} ${request.headers['x-mine']} \xe4`, 'latin1'),
      );
    });
    const headers = { 'X-Mine': 'yes' };
    expect(await http.run('http:get', { url: `${server.url}/page`, headers })).toBe(
      `${server.url}/page\nHTTP 200 OK\ncontent-type: text/html; charset=iso-8859-1\n\n*/* yes ä`,
    );
  });

  it('sends what the call says, and shows a refusal as it came', async () => {
    await using server = await serve(async (request, response) => {
      const body = (await Array.fromAsync(request)).join('');
      response.writeHead(422, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ method: request.method, body }));
    });
    const args = { method: 'POST', url: server.url, body: 'hello' };
    const shown = String(await http.run('http:request', args));
    expect(shown).toContain('HTTP 422');
    expect(shown).toContain('{"method":"POST","body":"hello"}');
  });

  it('reads with GET, and acts with any other request', () => {
    expect(http.tools.get('http:get')).toMatchObject({ effect: 'read' });
    expect(http.tools.get('http:request')).toMatchObject({ effect: 'act' });
    expect(http.tools.get('http:get')?.untrusted).not.toBe(false);
  });

  describe('without leave for anything but the public', () => {
    let open: OpenedPlugin;

    beforeEach(async () => {
      open = await openPlugin('http', { folder: '/' });
    });

    afterEach(() => open[Symbol.asyncDispose]());

    it.each([
      'http://127.0.0.1/',
      'http://localhost:7420/',
      'http://[::1]/',
      'http://10.0.0.1/',
      'http://192.168.1.1/',
      'http://169.254.169.254/latest/meta-data/',
      'http://2130706433/',
      'http://0x7f.1/',
      'http://user:password@example.org/',
      'file:///etc/passwd',
      'ftp://example.org/',
      'not a url',
    ])('refuses %s', async (url) => {
      await expect(open.run('http:get', { url })).rejects.toThrow(refused('POLICY_DENIED'));
    });
  });

  it('judges every redirect again', async () => {
    let hits = 0;
    await using server = await serve((request, response) => {
      hits += 1;
      const target = new URL(request.url ?? '', 'http://x').searchParams.get('to') ?? '';
      response.writeHead(302, { location: target }).end();
    });
    for (const target of ['http://127.0.0.2/', 'http://169.254.169.254/', 'file:///etc/passwd']) {
      const url = `${server.url}/?to=${encodeURIComponent(target)}`;
      await expect(http.run('http:get', { url })).rejects.toThrow(refused('POLICY_DENIED'));
    }
    expect(hits).toBe(3);
  });

  it('leaves a redirect to another host to the model, and names the address', async () => {
    const config = { allow: ['127.0.0.1', 'localhost'] };
    await using open = await openPlugin('http', { folder: '/', config });
    let hits = 0;
    await using target = await serve((_, response) => {
      hits += 1;
      response.end('arrived');
    });
    const elsewhere = `${target.url.replace('127.0.0.1', 'localhost')}/next?q=1`;
    await using server = await serve((_, response) => {
      response.writeHead(302, { location: elsewhere }).end();
    });
    await expect(open.run('http:get', { url: server.url })).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      details: { reason: 'redirected_host', fix: expect.stringContaining(elsewhere) },
    });
    expect(hits).toBe(0);
  });

  it('follows a redirect on the same host, without headers of the caller to another origin', async () => {
    const seen: (string | undefined)[] = [];
    await using target = await serve((request, response) => {
      seen.push(request.headers.authorization, request.headers['x-api-key'] as string);
      response.end('arrived');
    });
    await using server = await serve((_, response) => {
      response.writeHead(301, { location: target.url }).end();
    });
    const headers = { Authorization: 'Bearer secret', 'X-Api-Key': 'secret' };
    const shown = await http.run('http:get', { url: server.url, headers });
    expect(shown).toContain('arrived');
    expect(seen).toEqual([undefined, undefined]);
  });

  it('follows no circle, and sends no body on', async () => {
    await using server = await serve((request, response) => {
      response.writeHead(request.method === 'POST' ? 307 : 302, { location: '/again' }).end();
    });
    await expect(http.run('http:get', { url: server.url })).rejects.toThrow(
      refused('UPSTREAM_ERROR', 'too_many_redirects'),
    );
    const post = { method: 'POST', url: server.url, body: 'secret' };
    await expect(http.run('http:request', post)).rejects.toThrow(
      refused('POLICY_DENIED', 'redirected_body'),
    );
  });

  it('reads no more than it may, compressed or not', async () => {
    await using server = await serve((request, response) => {
      response.setHeader('content-type', 'text/plain');
      if (request.url === '/bomb') {
        response.setHeader('content-encoding', 'gzip');
        response.end(gzipSync(Buffer.alloc(50 * 2 ** 20, 'x')));
        return;
      }
      const write = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', write);
      write();
    });
    for (const path of ['/bomb', '/endless']) {
      await expect(http.run('http:get', { url: server.url + path })).rejects.toThrow(
        refused('UPSTREAM_ERROR', 'answer_too_large'),
      );
    }
  });

  it('waits no longer than it may, for the answer and for the rest of it', async () => {
    await using quick = await openPlugin('http', {
      folder: '/',
      config: { allow: ['127.0.0.1'], timeout_ms: 200 },
    });
    await using server = await serve((request, response) => {
      if (request.url === '/half') response.writeHead(200).write('half');
    });
    for (const path of ['/never', '/half']) {
      await expect(quick.run('http:get', { url: server.url + path })).rejects.toThrow(
        refused('TIMEOUT'),
      );
    }
  });

  it('refuses what is no text, and headers that are not its to set', async () => {
    await using server = await serve((_, response) => {
      response.setHeader('content-type', 'image/png').end('PNG');
    });
    await expect(http.run('http:get', { url: server.url })).rejects.toThrow(
      refused('UPSTREAM_ERROR', 'not_text'),
    );
    for (const headers of [{ Host: 'other' }, { 'Content-Length': '5' }, { 'X-A': 'a\r\nB: c' }]) {
      await expect(http.run('http:get', { url: server.url, headers })).rejects.toThrow(
        refused('BAD_INPUT', 'bad_header'),
      );
    }
  });

  it('says when no server is there', async () => {
    const gone = await serve(() => {});
    await gone[Symbol.asyncDispose]();
    await expect(http.run('http:get', { url: gone.url })).rejects.toThrow(
      refused('UPSTREAM_ERROR', 'unreachable'),
    );
  });
});
