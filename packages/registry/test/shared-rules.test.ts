import type { Manifest } from '@starloom/core';
import { exampleManifest } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { assertShared } from '../src/index.ts';

const NONE = { commands: [], secrets: [] };

const reasonOf = (
  endpoint: Manifest['endpoint'],
  rules = NONE as Parameters<typeof assertShared>[1],
) => {
  try {
    assertShared(exampleManifest({ endpoint }), rules);
    return undefined;
  } catch (error) {
    return (error as { details: { reason: string } }).details.reason;
  }
};

describe('a manifest that no operator of this gateway wrote', () => {
  const program = (change: Partial<Manifest['endpoint']> = {}): Manifest['endpoint'] => ({
    transport: 'stdio',
    command: 'npx',
    args: ['-y', 'server-files'],
    ...change,
  });
  const http = (change: Partial<Manifest['endpoint']> = {}): Manifest['endpoint'] => ({
    transport: 'http',
    uri: 'https://agents.example.com/mcp',
    ...change,
  });

  it('runs a command only where a glob names it', () => {
    expect(reasonOf(program())).toBe('command');
    expect(reasonOf(program(), { commands: ['npx'], secrets: [] })).toBeUndefined();
    expect(reasonOf(program(), { commands: ['npx -y server-*'], secrets: [] })).toBeUndefined();
    expect(reasonOf(program(), { commands: ['npx -y other-*', 'node'], secrets: [] })).toBe(
      'command',
    );
    expect(reasonOf(http({ command: 'sh' }))).toBe('command');
  });

  it.each([
    ['a variable that changes what runs', { env: { NODE_OPTIONS: '--import data:,' } }, 'secret'],
    ['variables of the gateway', { options: { inherit_env: ['AWS_SECRET_KEY'] } }, 'secret'],
    ['a folder of the gateway', { options: { root: '/' } }, 'command'],
    ['another place to run in', { options: { cwd: '/etc' } }, 'command'],
  ])('gives an allowed command not %s', (_, change, reason) => {
    expect(reasonOf(program(change), { commands: ['npx'], secrets: [] })).toBe(reason);
  });

  it.each([
    ['a header', { headers: { Authorization: 'Bearer env:TOKEN' } }],
    ['a header that is a file', { headers: { 'x-key': 'file:/etc/shadow' } }],
    ['a certificate', { tls: { ca: 'file:/etc/shadow' } }],
    ['a client of OAuth', { options: { oauth: { client_secret: 'env:TOKEN' } } }],
    ['a document', { options: { document: '/etc/shadow' } }],
  ])('reads no secret of the gateway for %s, unless a glob names it', (_, change) => {
    expect(reasonOf(http(change))).toBe('secret');
    const secrets = ['TOKEN', '/etc/*'];
    expect(reasonOf(http(change), { commands: [], secrets })).toBeUndefined();
  });

  it.each([
    'file:///etc/passwd',
    'ftp://agents.example.com/',
    'https://user:password@agents.example.com/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://[::ffff:169.254.169.254]/',
    'http://0.0.0.0/',
    'http://2852039166/',
    'http://255.255.255.255/',
  ])('is not called at %s', (uri) => {
    expect(reasonOf(http({ uri }))).toBe('url');
  });

  it.each([
    'http://127.0.0.1:9000/mcp',
    'http://[::1]:9000/',
    'http://10.1.2.3/a',
    'https://agents.example.com/',
    'http://node-1.internal/agents/percy',
  ])('is called at %s', (uri) => {
    expect(reasonOf(http({ uri }))).toBeUndefined();
  });
});
