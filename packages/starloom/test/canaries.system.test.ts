// Secrets are planted everywhere that has one, everything is made to fail, and all that was written or
// answered is searched for them.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { auditFiles, generateKey } from '@starloom/identity';
import { childEnvironment, spawnProcess } from '@starloom/wire';
import { describe, expect, it } from 'vitest';
import { LAUNCHER, runStarloom, scratch } from './run-starloom.ts';

/** Says its mandate wherever an agent can say something, as a careless one does. */
const LEAKY = `
const { createInterface } = require('node:readline');
createInterface({ input: process.stdin }).once('line', (line) => {
  const { mandate, envelope } = JSON.parse(line);
  require('node:fs').appendFileSync(process.env.SEEN, mandate + '\\n');
  console.error('called with ' + mandate);
  const say = (one) => console.log(JSON.stringify(one));
  if (envelope.input.task === 'fail') {
    say({ type: 'error', error: { code: 'UPSTREAM_ERROR', message: 'bad ' + mandate, details: {} } });
  } else if (envelope.input.task === 'crash') process.exit(3);
  else say({ type: 'final', data: { answer: 'ok' } });
});`;

const CONFIG = `
auth: { psk: [{ key_id: ci, key: env:CANARY_KEY, principal: ci, scopes: ["agent:leaky"] }] }
telemetry: { log_level: trace }
`;

const AGENTS = `- agent_id: leaky
  endpoint: { transport: process, command: node, args: [./leaky.cjs], env: { SEEN: ./seen.txt } }
  capabilities: [{ name: work }]
  trust_tier: org
  auth: { mandate: true }
`;

describe('planted secrets', () => {
  it('appear in no log line, no answer, no error and no audit record', async () => {
    await using place = await scratch({
      'leaky.cjs': LEAKY,
      'starloom.yaml': CONFIG,
      'agents.yaml': AGENTS,
    });
    const { folder } = place;
    const home = join(folder, 'home');
    const configured = generateKey();
    const env = { STARLOOM_HOME: home, CANARY_KEY: configured };
    const run = (...words: string[]) => runStarloom(words, { cwd: folder, env });
    const child = await spawnProcess({
      command: process.execPath,
      args: [LAUNCHER, 'up', '--json', '--port', '0'],
      cwd: folder,
      env: childEnvironment({ extra: env }),
    });
    const written: string[] = [];
    const lines = child.lines()[Symbol.asyncIterator]();
    const { url } = JSON.parse((await lines.next()).value ?? '{}');
    const created = JSON.parse((await run('keys', 'create', 'made', '--json')).stdout);
    const signed = await run('passport', 'create', 'ada', '--scope', 'agent:leaky', '--json');
    const { passport } = JSON.parse(signed.stdout);
    const own = JSON.parse(await readFile(join(home, 'client.json'), 'utf8')).key;

    const send = async (headers: Record<string, string>, body: unknown, path = '/mcp') => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      written.push(JSON.stringify([...response.headers]), await response.text());
    };
    const call = (task: string) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'fabric.call', arguments: { agent_id: 'leaky', capability: 'work', task } },
    });
    const secrets = [configured, created.key, own];
    for (const key of secrets) {
      const bearer = { authorization: `Bearer ${key}` };
      for (const task of ['ok', 'fail', 'crash']) await send(bearer, call(task));
      await send({ ...bearer, 'x-agent-passport': passport }, call('ok'));
      await send({ authorization: `Basic ${key}` }, call('ok'));
      await send({ authorization: `Bearer ${key}x` }, call('ok'));
      await send(bearer, '{');
      await send({}, call('ok'), `/mcp?token=${key}`);
      await send(bearer, call('ok'), `/nowhere/${'x'.repeat(10)}`);
    }
    await send({ 'x-agent-passport': passport }, call('fail'));
    await send({ 'x-agent-passport': `${passport}x` }, call('ok'));
    await send({}, call('ok'), `/mcp?passport=${passport}`);
    const mandates = (await readFile(join(folder, 'seen.txt'), 'utf8')).trim().split('\n');
    expect(mandates.length).toBeGreaterThan(3);
    await send({ 'x-agent-mandate': mandates[0] ?? '' }, call('ok'));
    await run('passport', 'revoke', 'principal', 'ada');
    await run('keys', 'revoke', 'made');
    await send({ 'x-agent-passport': passport }, call('ok'));
    const health = await run('health', '--json');
    written.push(health.stdout, health.stderr);

    child.signal('SIGTERM');
    await child.exited;
    for (let next = await lines.next(); !next.done; next = await lines.next()) {
      written.push(next.value);
    }
    written.push(child.stderrTail());
    const audit = join(home, 'audit');
    for (const name of await auditFiles(audit))
      written.push(await readFile(join(audit, name), 'utf8'));
    const signing = JSON.parse(await readFile(join(home, 'identity/signing-keys.json'), 'utf8'));
    const canaries = [...secrets, passport, ...mandates, signing.keys[0].d];
    const all = written.join('\n');
    expect(all).toContain('unknown_key');
    for (const canary of canaries) {
      expect(all.includes(canary), `${canary.slice(0, 12)}… leaked`).toBe(false);
      const signature = canary.split('.')[2] ?? canary;
      expect(all.includes(signature), `${canary.slice(0, 12)}… leaked in part`).toBe(false);
    }
  });
});
