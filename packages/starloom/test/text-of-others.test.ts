import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FabricError, silentLog, systemClock } from '@starloom/core';
import { AuditLog, createKey, SigningKeys } from '@starloom/identity';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { describeAgent, listAgents, showTools } from '../src/commands/agents-show.ts';
import { showAuditLog } from '../src/commands/audit.ts';
import { showHealth } from '../src/commands/health.ts';
import { listJobs } from '../src/commands/jobs.ts';
import { listSharedKeys } from '../src/commands/keys.ts';
import { previewRoute } from '../src/commands/route.ts';
import { toPeopleLine } from '../src/people-log.ts';
import { reportError } from '../src/report-error.ts';
import { auditFolder, identityFolder } from '../src/state-folder.ts';
import type { Terminal } from '../src/terminal.ts';
import { render, table } from '../src/terminal-text.ts';

/** A forged line, a cleared screen, reordered text, and a window title that does not end. */
const HOSTILE = 'x\nFORGED\r\nFORGED\u2028FORGED\tFORGED\x1b[2J\u202eevil\ufdd4\x1b]0;FORGED';
const SURVIVES = 'survives';

describe('text of others in the output of a command', () => {
  let home: string;
  let shown: string[];
  let gateway: Awaited<ReturnType<typeof openGateway>>;
  let terminal: Terminal;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'starloom-text-'));
    gateway = await openGateway();
  });

  afterAll(async () => {
    await gateway.close();
    await rm(home, { recursive: true });
  });

  beforeEach(() => {
    shown = [];
    const show = (text: string) => void shown.push(render(text, false));
    const env = { STARLOOM_HOME: home, STARLOOM_URL: gateway.url, STARLOOM_KEY: 'k' };
    const parts = { env, cwd: home, print: show, write: show, tell: show, columns: undefined };
    terminal = { ...parts, isWatched: false } as unknown as Terminal;
  });

  const assertPlain = () => {
    const lines = shown.join('\n').split('\n');
    for (const line of lines) {
      expect(line).not.toMatch(/^FORGED|[\p{C}\u2028\u2029]/u);
    }
    expect(lines.join('\n')).toContain(SURVIVES);
  };

  it.each([
    ['starloom agents', () => listAgents(terminal, {} as never)],
    ['starloom route', () => previewRoute(terminal, 'percy', SURVIVES, {})],
    ['starloom health', () => showHealth(terminal, {})],
    ['starloom jobs list', () => listJobs(terminal, {} as never)],
    ['starloom agents tools', () => showTools(terminal, 'percy', {})],
    ['starloom agents describe', () => describeAgent(terminal, 'percy', {})],
  ])('begins no line and moves no cursor in any column of %s', async (_, run) => {
    await run();
    assertPlain();
  });

  it('begins no line in the list of keys', async () => {
    const folder = identityFolder(home);
    const grant = { tier: 'org', scopes: [`agent:${HOSTILE}`] } as const;
    await createKey(folder, { ...grant, keyId: 'one', principal: HOSTILE }, Date.now());
    await createKey(folder, { ...grant, keyId: SURVIVES, principal: 'ada' }, Date.now());
    await listSharedKeys(terminal, {});
    assertPlain();
  });

  it('begins no line in the audit log, and is readable there', async () => {
    const keys = await SigningKeys.open({ folder: home, clock: systemClock, log: silentLog });
    const log = await AuditLog.open({
      folder: auditFolder(home),
      keys,
      clock: systemClock,
      log: silentLog,
    });
    const call = {
      type: 'call',
      decision: 'deny',
      grant: 'g',
      mode: 'oauth',
      tier: 'org',
    } as const;
    for (const principal of [HOSTILE, SURVIVES]) {
      const others = { capability: principal, trace_id: 't', tool: principal, rule: principal };
      log.record({ ...call, principal, delegate: principal, agent_id: principal, ...others });
    }
    await log.close();
    await keys.close();
    await showAuditLog(terminal, {});
    assertPlain();
    expect(shown[0]).toContain('x\\u{a}FORGED');
  });

  it('stays in its cell, whichever column of a table it is in', () => {
    for (const column of [0, 1, 2]) {
      const row = ['a', 'b', 'c'].map((cell, index) => (index === column ? HOSTILE : cell));
      shown = [render(table(['ONE', 'TWO', 'THREE'], [row, ['d', 'e', SURVIVES]]), false)];
      expect(shown.join('\n').split('\n')).toHaveLength(3);
      assertPlain();
    }
  });

  it('stays in its line of an error and of the log for people', () => {
    const details = { fix: HOSTILE, primary: HOSTILE, fallbacks: [HOSTILE], upstream: HOSTILE };
    const error = new FabricError('UPSTREAM_ERROR', HOSTILE, { details });
    reportError(error, { json: false, tell: terminal.tell });
    const call = { message: 'call', tool: HOSTILE, code: SURVIVES, error: { message: HOSTILE } };
    for (const line of [call, { message: HOSTILE, [HOSTILE]: HOSTILE, agent_id: SURVIVES }]) {
      shown.push(render(toPeopleLine(JSON.stringify({ level: 'warn', ...line })) ?? '', false));
    }
    assertPlain();
  });
});

/** Answers each tool with what a gateway would say of hostile agents: every text is hostile. */
async function openGateway() {
  const capability = { name: 'n', title: 't', annotations: { hint: true }, input_schema: {} };
  const agent = {
    agent_id: 'percy',
    description: 'd',
    health: { status: 's', message: 'm', upstream: 'u', fix: 'f' },
    endpoint: { transport: 'stdio', protocol: 'p', command: 'c' },
    trust_tier: 't',
    version: 'v',
    node_id: 'n',
    tags: ['t'],
    fallbacks: ['f'],
    capabilities: [capability, surviving(capability)],
    held: [{ name: 'h', reason: 'look_alike', changes: ['c'], like: 'l' }],
    missing: [{ name: 'm', near: 'n' }],
  };
  const route = { agent_id: 'a', kind: 'k', health: 'h', reason: 'r' };
  const job = { job_id: 'j', state: 's', agent_id: 'a', capability: 'c', created_at: 't' };
  const failed = { ...job, error: { code: 'c', message: 'm' } };
  const payloads: Readonly<Record<string, object>> = {
    'fabric.agent.list': { agents: [agent, surviving(agent)] },
    'fabric.agent.describe': { agent },
    'fabric.route.preview': { primary: route, fallbacks: [surviving(route)], skipped: [route] },
    'fabric.health': {
      gateway: { status: 's', version: 'v', uptime_s: 1 },
      registry: { ok: true, kind: 'k', agents: 1, message: 'm' },
      engines: { jobs: { kind: 'k', status: 's', reason: 'r', warnings: [{ fix: 'f' }] } },
      agents: {
        list: [
          { ...route, status: 's', breaker: 'b', message: 'm', upstream: 'u', fix: 'f' },
          { agent_id: SURVIVES, status: 'online', breaker: 'closed' },
        ],
      },
    },
    'fabric.job.list': { jobs: [failed, surviving(job)] },
  };
  const answer = (method: string, params: { name?: string; protocolVersion?: string }) => {
    if (method === 'initialize') {
      const serverInfo = { name: 'stub', version: '0' };
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo };
    }
    if (method === 'tools/list') return { tools: [] };
    if (method !== 'tools/call') return undefined;
    const payload = payloads[params.name ?? ''] ?? {};
    return { content: [], structuredContent: { ok: true, ...(poisoned(payload) as object) } };
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body);
    if (id === undefined) return void response.writeHead(202).end();
    const result = answer(method, params);
    const outcome = result ? { result } : { error: { code: -32601, message: 'unknown' } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

/** Words that decide how something is shown. */
const MEANT = new Set(['percy', 'look_alike', SURVIVES, 'online', 'closed']);

function poisoned(value: unknown): unknown {
  if (typeof value === 'string') return MEANT.has(value) ? value : HOSTILE;
  if (Array.isArray(value)) return value.map(poisoned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, poisoned(member)]));
}

function surviving<T extends object>(row: T): T {
  const name = 'agent_id' in row ? 'agent_id' : 'name';
  return { ...row, [name]: SURVIVES };
}
