import { protocolOf } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import type { AddOptions } from '../src/commands/agents.ts';
import { toCommandManifest, toUrlManifest } from '../src/commands/agents-add-manifest.ts';

const add = (url: string, options: Partial<AddOptions> = {}) =>
  toUrlManifest(url, options as AddOptions).endpoint;

describe('the address of an Agent Zero', () => {
  it.each([
    'http://127.0.0.1:50001/mcp/t-abcDEF123/http/',
    'http://127.0.0.1:50001/mcp/t-abcDEF123/sse',
    'http://127.0.0.1:50001/a2a/t-abcDEF123',
  ])('is known by its form, and its token leaves it: %s', (url) => {
    expect(add(url)).toEqual({
      transport: 'http',
      protocol: 'agent-zero',
      uri: 'http://127.0.0.1:50001/',
      headers: { 'X-API-KEY': 'abcDEF123' },
    });
  });

  it('may name a project, and a path before it', () => {
    expect(add('https://agents.example/zero/a2a/t-abc/p-web/')).toMatchObject({
      uri: 'https://agents.example/zero',
      options: { project: 'web' },
    });
  });

  it('takes a token by reference instead', () => {
    const header = { 'x-api-key': 'env:ZERO_TOKEN' };
    const { headers } = add('http://127.0.0.1/mcp/t-abc/http/', { header });
    expect(headers).toEqual(header);
  });

  it('stays as it is where it is to be plain MCP', () => {
    const url = 'http://127.0.0.1/mcp/t-abc/http/';
    expect(add(url, { protocol: 'mcp' })).toEqual({ transport: 'http', protocol: 'mcp', uri: url });
  });
});

describe('another address', () => {
  it.each(['http://127.0.0.1:8000', 'https://x.example/mcp/t', 'https://x.example/mcp/team/x'])(
    'stays as it is: %s',
    (uri) => {
      const protocol = 'agent-communication-protocol';
      expect(add(uri, { protocol })).toEqual({ transport: 'http', protocol, uri });
      expect(add(uri)).toEqual({ transport: 'http', uri });
    },
  );
});

describe('a program that speaks lines of JSON', () => {
  it.each(['local-process', 'process'])('is added with --protocol %s', (protocol) => {
    const place = { cwd: '/', folder: '/' };
    const { endpoint } = toCommandManifest('it', ['run-it'], { protocol } as AddOptions, place);
    expect(endpoint.transport).toBe('process');
    expect(protocolOf(endpoint)).toBe('local-process');
  });
});
