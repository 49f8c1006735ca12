// A secret of every kind that a gateway or an agent can have, each with a form that no filter of the
// log knows. Everything is made to succeed and to fail, through every face. Then all that was written,
// answered, stored and sent to a collector is searched.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { generateKey } from '@starloom/identity';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openCanaryServer } from './canary-server.ts';
import { LAUNCHER, runStarloom, scratch } from './run-starloom.ts';

/** Letters alone: neither a prefix nor a length gives it away. */
const canary = (name: string) =>
  `canary${name}${generateKey()
    .replace(/[^a-z]/gi, '')
    .slice(-24)}`;

const LEAKY = `
const { createInterface } = require('node:readline');
createInterface({ input: process.stdin }).once('line', (line) => {
  const { mandate, envelope } = JSON.parse(line);
  require('node:fs').appendFileSync(process.env.SEEN, mandate + '\\n');
  const secret = process.env.AGENT_VALUE;
  console.error('called with ' + mandate + ' and ' + secret);
  const say = (one) => console.log(JSON.stringify(one));
  const { task } = envelope.input;
  if (task === 'fail') {
    const message = 'bad ' + mandate + ' ' + secret;
    say({ type: 'error', error: { code: 'UPSTREAM_ERROR', message, details: { secret } } });
  } else if (task === 'crash') process.exit(3);
  else if (task === 'garbage') console.log('not json ' + secret);
  else say({ type: 'final', data: { answer: 'ok' } });
});`;

const toConfig = (url: string) => `
auth: { psk: [{ key_id: ci, key: env:CANARY_KEY, principal: ci, scopes: ["*"] }] }
telemetry: { log_level: trace, otlp: "${url}" }
jobs: { kind: sqlite, webhook_hosts: [127.0.0.1] }
limits: { rate_per_agent: { calls: 1000, seconds: 60 } }
`;

const toAgents = (url: string) => `- agent_id: leaky
  endpoint:
    { transport: process, command: node, args: [./leaky.cjs], env: { SEEN: ./seen.txt, AGENT_VALUE: "env:AGENT_VALUE" } }
  capabilities: [{ name: work, retries: { attempts: 1 } }]
  fallback: none
  trust_tier: org
  auth: { mandate: true }
- agent_id: telling
  endpoint:
    transport: http
    protocol: http
    uri: ${url}/agent
    headers: { authorization: "Bearer env:UPSTREAM_BEARER", x-api-key: "env:UPSTREAM_KEY" }
  capabilities: [{ name: work, retries: { attempts: 1 } }]
  fallback: none
  trust_tier: org
- agent_id: oauth
  endpoint:
    transport: http
    uri: ${url}/mcp
    options: { oauth: { client_id: gateway, client_secret: "env:CLIENT_SECRET", issuer: "${url}" } }
  capabilities: [{ name: work, retries: { attempts: 1 } }]
  fallback: none
  trust_tier: org
`;

const toAgentFile = (url: string) =>
  JSON.stringify({
    name: 'coder',
    version: '1.0.0',
    provider: {
      kind: 'openai-compatible',
      base_url: `${url}/model`,
      model: 'any',
      api_key: 'env:PROVIDER_KEY',
    },
    system_prompt: 'You code.',
  });

describe('planted secrets of every kind', () => {
  it('appear in no output, no answer, no trace, no metric and no file but their own', async () => {
    const planted = {
      bearer: canary('bearer'),
      header: canary('header'),
      environment: canary('environment'),
      client: canary('client'),
      access: canary('access'),
      webhook: canary('webhook'),
      provider: canary('provider'),
      configured: generateKey(),
    };
    await using server = await openCanaryServer({ access: planted.access });
    await using place = await scratch({
      'leaky.cjs': LEAKY,
      'starloom.yaml': toConfig(server.url),
      'agents.yaml': toAgents(server.url),
      'agent.json': toAgentFile(server.url),
    });
    const { folder } = place;
    const home = join(folder, 'home');
    const env = {
      STARLOOM_HOME: home,
      CANARY_KEY: planted.configured,
      UPSTREAM_BEARER: planted.bearer,
      UPSTREAM_KEY: planted.header,
      AGENT_VALUE: planted.environment,
      CLIENT_SECRET: planted.client,
      PROVIDER_KEY: planted.provider,
    };
    const written: [where: string, text: string][] = [];
    const run = async (...words: string[]) => {
      const result = await runStarloom(words, { cwd: folder, env });
      written.push([words.join(' '), result.stdout + result.stderr]);
      return result;
    };
    const gateway = spawn(process.execPath, [LAUNCHER, 'up', '--json', '--port', '0'], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void gateway.kill('SIGKILL'));
    const log = text(gateway.stderr);
    const [first] = (await once(gateway.stdout, 'data')) as [Buffer];
    const { url } = JSON.parse(first.toString());
    const printed = text(gateway.stdout);

    const send = async (path: string, headers: Record<string, string>, body: unknown) => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'a2a-version': '1.0',
          ...headers,
        },
        body: JSON.stringify(body),
      });
      const answer = await response.text();
      written.push([path, JSON.stringify([...response.headers]) + answer]);
      return answer;
    };
    const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
    const call = (agent_id: string, task: string, more = {}) =>
      rpc('tools/call', {
        name: 'fabric.call',
        arguments: { agent_id, capability: 'work', task, ...more },
      });
    const created = await runStarloom(['keys', 'create', 'made', '--json'], { cwd: folder, env });
    const { key: made } = JSON.parse(created.stdout);
    const signed = await runStarloom(
      ['passport', 'create', 'ada', '--scope', 'agent:leaky', '--json'],
      { cwd: folder, env },
    );
    const { passport } = JSON.parse(signed.stdout);
    const own = JSON.parse(await readFile(join(home, 'client.json'), 'utf8')).key;

    for (const key of [planted.configured, made, own]) {
      const bearer = { authorization: `Bearer ${key}` };
      for (const agent of ['leaky', 'telling', 'oauth']) {
        // A success in between keeps the circuit of the agent closed.
        const tasks =
          key === made ? ['ok', 'fail', 'ok', 'crash', 'ok', 'garbage'] : ['fail', 'ok'];
        for (const task of tasks) await send('/mcp', bearer, call(agent, task));
        if (key !== made) continue;
        const tool = { name: `${agent}.work`, arguments: { task: 'fail' } };
        await send('/mcp', bearer, rpc('tools/call', tool));
        const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'fail' }] };
        await send(`/a2a/${agent}`, bearer, rpc('SendMessage', { message }));
        await send(`/a2a/${agent}/message:send`, bearer, { message });
      }
      await send(
        '/rpc',
        { ...bearer, accept: 'application/json' },
        rpc('session_manager.list', {}),
      );
      await send('/rpc', { authorization: `Bearer ${key}x` }, rpc('session_manager.list', {}));
      await send('/rpc', bearer, rpc('session_manager.get', { session_id: key.slice(0, 3) }));
      const webhook = { url: `${server.url}/hook`, secret: planted.webhook };
      await send('/mcp', bearer, call('leaky', 'fail', { async: true, webhook }));
      await send('/mcp', bearer, rpc('tools/call', { name: 'fabric.job.list', arguments: {} }));
      await send('/mcp', bearer, rpc('tools/call', { name: 'fabric.health', arguments: {} }));
      await send('/mcp', bearer, rpc('tools/call', { name: 'fabric.agent.list', arguments: {} }));
    }
    await send('/mcp', { 'x-agent-passport': passport }, call('leaky', 'fail'));
    await send('/mcp', { 'x-agent-passport': `${passport}x` }, call('leaky', 'ok'));
    const stored = await send(
      '/mcp',
      { 'x-agent-passport': passport },
      call('leaky', 'ok', { async: true }),
    );
    expect(stored).toContain('job_id');
    const mandates = (await readFile(join(folder, 'seen.txt'), 'utf8')).trim().split('\n');
    await send('/mcp', { 'x-agent-mandate': mandates[0] ?? '' }, call('leaky', 'ok'));
    for (const agent of ['leaky', 'telling', 'oauth']) {
      await run('call', agent, 'work', 'fail', '--json');
      await run('call', `${agent}.work`, 'fail');
    }
    for (const words of ['agents --json', 'agents', 'health', 'jobs list --json', 'config show']) {
      await run(...words.split(' '));
    }
    await run('keys', 'list', '--json');
    await run('agent', 'exec', 'hello', '--json');
    await run('agent', 'exec', 'hello');
    await expect
      .poll(() => server.received.some(({ path }) => path === '/hook'), { timeout: 20_000 })
      .toBe(true);
    written.push(['/metrics', await (await fetch(`${url}/metrics`)).text()]);
    gateway.kill('SIGTERM');
    await once(gateway, 'close');
    written.push(['log', await log], ['stdout', await printed]);
    for (const { path, body } of server.received) written.push([`sent to ${path}`, body]);
    await run('audit', 'show');
    const paths = server.received.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['/v1/traces', '/v1/logs', '/v1/metrics']));

    // The secrets were used, so that there was something to leak.
    const used = [...server.credentials].join(' ');
    for (const name of ['bearer', 'header', 'access', 'provider'] as const) {
      expect(used, `${name} was not used`).toContain(planted[name]);
    }
    expect(mandates.length).toBeGreaterThan(3);

    const signing = JSON.parse(await readFile(join(home, 'identity/signing-keys.json'), 'utf8'));
    const basic = Buffer.from(`gateway:${planted.client}`).toString('base64');
    const canaries = { ...planted, basic, made, own, passport, signing: signing.keys[0].d };
    const all = new Map<string, string>(Object.entries(canaries));
    for (const [index, mandate] of mandates.entries()) all.set(`mandate ${index}`, mandate);
    expect(written.filter(([, content]) => content.includes('[redacted]')).length).toBeGreaterThan(
      9,
    );
    const leaks: string[] = [];
    const search = (where: string, content: string, isOwn: (name: string) => boolean) => {
      for (const [name, secret] of all) {
        const part = secret.split('.')[2] ?? secret;
        if (content.includes(part) && !isOwn(name)) leaks.push(`${name} in ${where}`);
      }
    };
    for (const [where, content] of written) search(where, content, () => false);
    for (const file of await readdir(home, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const path = join(file.parentPath, file.name);
      const name = relative(home, path);
      search(
        name,
        await readFile(path, 'latin1'),
        (secret) => HOLDERS[secret]?.test(name) ?? false,
      );
    }
    expect([...new Set(leaks)]).toEqual([]);
  }, 120_000);
});

/** Files of the state folder in which a secret has to be. */
const HOLDERS: Readonly<Record<string, RegExp>> = {
  own: /^client\.json$/,
  signing: /^identity\/signing-keys\.json$/,
  webhook: /^jobs/,
};
