import type { JournalCall, JournalRates } from '@starloom/core';
import { describe, expect, it } from 'vitest';
import { withEntries } from '../src/commands/connect.ts';
import { nodeFinding, report } from '../src/commands/doctor.ts';
import {
  bytes,
  CallLines,
  duration,
  topPage,
  usageCsv,
  usageTable,
  waterfall,
} from '../src/journal-view.ts';
import { render, widthOf, withoutPaint } from '../src/terminal-text.ts';

const BEGAN = Date.parse('2026-01-02T03:04:05.678Z');
const HOSTILE = '\u001b[2J\u202eevil\r\n\u0007name';
const CALL: JournalCall = {
  trace_id: '3f2a91c0-0000-4000-8000-000000000001',
  span_id: '11111111-1111-4111-8111-111111111111',
  parent_span_id: null,
  gateway: 'node-a',
  face: 'mcp',
  transport: 'http',
  tool: 'fabric.call',
  principal: 'alice',
  depth: 1,
  chain: [],
  agent_id: 'backup',
  capability: 'reason',
  stream: false,
  admitted_ms: 2,
  routed_ms: 4,
  route: [
    { agent_id: 'percy', node_id: 'n1', kind: 'primary', availability: 'ready', reason: '' },
    { agent_id: 'backup', node_id: 'n2', kind: 'fallback', availability: 'ready', reason: '' },
  ],
  skipped: [{ agent_id: 'loop', reason: 'cycle' }],
  rule: 'own-agents',
  attempts: [
    {
      ...{ agent_id: 'percy', node_id: 'n1', protocol: 'mcp', fallback: false },
      ...{ began_ms: 4, ms: 30, code: 'TIMEOUT', reason: 'slow', sent: true },
    },
    {
      span_id: '22222222-2222-4222-8222-222222222222',
      ...{ agent_id: 'backup', node_id: 'n2', protocol: 'a2a', fallback: true },
      ...{ began_ms: 34, ms: 60, code: null, sent: true },
    },
  ],
  fallback: true,
  events: { final: 1 },
  first_events: [['final', 95]],
  bytes_in: 10,
  bytes_out: 2_000,
  began_at: BEGAN,
  ended_at: BEGAN + 100,
  ms: 100,
  code: null,
};
const CHILD: JournalCall = {
  ...CALL,
  span_id: '33333333-3333-4333-8333-333333333333',
  parent_span_id: '22222222-2222-4222-0000-000000000000',
  principal: 'backup',
  agent_id: 'files',
  capability: 'read',
  depth: 2,
  attempts: [],
  route: [],
  skipped: [],
  fallback: false,
  began_at: BEGAN + 40,
  ms: 20,
  code: 'BAD_INPUT',
};
const plain = (text: string) => withoutPaint(text).split('\n');

describe('calls in the terminal', () => {
  it('fit 80 columns, with the beginning of the trace id', () => {
    const lines = new CallLines(80);
    expect(plain([lines.head, lines.line(CALL)].join('\n'))).toEqual([
      'TIME      OUTCOME         TOOK     CALLER    FACE  CALL                 TRACE',
      '03:04:05  ok              100 ms   alice     mcp   backup.reason (fal…  3f2a91c0',
    ]);
  });

  it('have whole times and ids at 200 columns, and whole texts in a pipe', () => {
    const wide = withoutPaint(new CallLines(200).line({ ...CALL, code: 'CAPABILITY_NOT_FOUND' }));
    expect(wide).toContain('2026-01-02T03:04:05.678Z  CAPABILITY_NOT_FOUND ');
    expect(wide).toContain(CALL.trace_id);
    expect(widthOf(wide)).toBeLessThanOrEqual(200);
    const long = 'x'.repeat(300);
    expect(new CallLines(undefined).line({ ...CALL, principal: long })).toContain(long);
  });

  it.each([80, 200])('cannot be forged by texts of others at %d columns', (columns) => {
    const forged = { ...CALL, principal: HOSTILE, capability: HOSTILE, tool: HOSTILE };
    const line = render(new CallLines(columns).line(forged), true);
    expect(line.split('\n')).toHaveLength(1);
    for (const one of ['\u001b[2J', '\u202e', '\u0007']) expect(line).not.toContain(one);
    for (const text of [waterfall([forged], columns), topPage(facts([forged]), BEGAN, columns)])
      for (const one of ['\u001b', '\u202e', '\u0007'])
        expect(render(text, false)).not.toContain(one);
  });
});

describe('a trace in the terminal', () => {
  it('shows admission, policy, route, attempts, fallbacks and what they called at 80 columns', () => {
    expect(plain(waterfall([CALL, CHILD], 80))).toEqual([
      'trace 3f2a91c0-0000-4000-8000-000000000001',
      '2 hops, 100 ms, by alice, 2026-01-02T03:04:05.678Z',
      'BAD_INPUT',
      '',
      expect.stringMatching(/^backup\.reason {2,}━+ +100 ms {2}mcp at node-a ok$/),
      expect.stringMatching(/^ {2}admit +━ +2 ms {2}depth 1$/),
      expect.stringMatching(/^ {2}policy +━ +0 µs {2}rule own-agents$/),
      expect.stringMatching(/^ {2}route +━ +2 ms {2}percy, backup; with…$/),
      expect.stringMatching(/^ {2}attempt percy@n1 +━+ +30 ms {2}mcp TIMEOUT, slow$/),
      expect.stringMatching(/^ {2}fallback backup@n2 +━+ +60 ms {2}a2a ok$/),
      expect.stringMatching(/^ {4}files\.read +━+ +20 ms {2}mcp at node-a BAD_I…$/),
      expect.stringMatching(/^ {6}admit /),
      expect.stringMatching(/^ {6}policy /),
      expect.stringMatching(/^ {6}route /),
    ]);
    for (const columns of [80, 200])
      for (const line of plain(waterfall([CALL, CHILD], columns)))
        expect(widthOf(line)).toBeLessThanOrEqual(columns);
  });

  it('shows a hop whose parent is not known as one of the first, and a call that runs', () => {
    const running = {
      ...CHILD,
      parent_span_id: CALL.trace_id,
      ended_at: null,
      ms: null,
      code: null,
    };
    const lines = plain(waterfall([running], 100));
    expect(lines[3]).toMatch(/^files\.read .*running {2}mcp at node-a running$/);
  });
});

function rates(window_ms: number): JournalRates {
  const rate = { calls: 40, failed: 2, per_second: 4, p50: 12, p95: 340, p99: 1_200 };
  const agents = [{ agent_id: 'percy', ...rate }];
  return { window_ms, ...rate, agents, codes: [{ code: 'TIMEOUT', calls: 2 }] };
}

const facts = (running: readonly JournalCall[]) => ({
  windows: [rates(10_000), rates(60_000)],
  running,
  agents: [
    { agent_id: 'percy', status: 'online', breaker: 'closed' },
    { agent_id: 'coder', status: 'offline', breaker: 'open' },
  ],
  jobs: { running: 2, succeeded: 7 },
});

describe('rates and usage in the terminal', () => {
  it.each([80, 200])('are one page of rates, errors, agents and jobs at %d columns', (columns) => {
    const running = { ...CALL, ended_at: null, ms: null };
    const page = plain(topPage(facts([running]), BEGAN + 1_500, columns));
    expect(page).toContain('last 10 s   40     4/s   2 (5 %)  12 ms  340 ms  1.20 s');
    expect(page).toContain('errors: TIMEOUT 2');
    expect(page).toContain('jobs: 2 running, 7 succeeded');
    expect(page.join('\n')).toMatch(/coder +0 +0\/s +0 +offline, open/);
    expect(page.at(-1)).toBe('    1.50 s  backup.reason  alice');
    for (const line of page) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  });

  it('sum up by key, with shares of failures and units', () => {
    const row = {
      calls: 4,
      failed: 1,
      ms: 100,
      cost: 0.30000000000000004,
      bytes_in: 10,
      bytes_out: 2_500_000,
    };
    expect(plain(usageTable('caller', [{ key: 'alice', ...row }], 80))).toEqual([
      'CALLER  CALLS  FAILED    MEAN   COST  IN    OUT',
      'alice   4      1 (25 %)  25 ms  0.3   10 B  2.5 MB',
    ]);
  });

  it('name a tool as lists of calls do', () => {
    const row = { calls: 1, failed: 0, ms: 1, cost: 0, bytes_in: 0, bytes_out: 0 };
    const rows = [{ key: 'percy/reason', ...row }];
    expect(plain(usageTable('tool', rows, 80))[1]).toMatch(/^percy\.reason /);
    expect(usageCsv('tool', rows)).toContain('\r\npercy.reason,1,');
    expect(usageCsv('caller', rows)).toContain('\r\npercy/reason,1,');
  });

  it('are safe in a spreadsheet', () => {
    const row = { calls: 1, failed: 0, ms: 1, cost: 0, bytes_in: 0, bytes_out: 0 };
    const rows = ['=HYPERLINK("x")', 'a,b', '-'].map((key) => ({ key, ...row }));
    expect(usageCsv('tool', rows).split('\r\n')).toEqual([
      'tool,calls,failed,ms,cost,bytes_in,bytes_out',
      `"'=HYPERLINK(""x"")",1,0,1,0,0,0`,
      '"a,b",1,0,1,0,0,0',
      '-,1,0,1,0,0,0',
    ]);
  });

  it('have durations and sizes that people read', () => {
    expect([0.5, 12, 1_240, 210_000, null].map(duration)).toEqual([
      '500 µs',
      '12 ms',
      '1.24 s',
      '3.5 min',
      '',
    ]);
    expect([5, 1_500, 2e9].map(bytes)).toEqual(['5 B', '1.5 kB', '2.0 GB']);
  });
});

describe('what doctor reports', () => {
  it('names what is wrong with its fix, and nothing else below the table', () => {
    const findings = [
      nodeFinding('22.18.0'),
      nodeFinding('26.1.0'),
      { part: 'agent percy', status: 'failed', note: HOSTILE, fix: 'start it' },
    ] as const;
    const text = render(report(findings, 80), false);
    expect(text).not.toContain('\u001b');
    expect(text.split('\n').slice(5)).toEqual([
      'node: 22.18.0',
      '  fix: install Node 22.19 or newer',
      expect.stringMatching(/^agent percy: .*evil/),
      '  fix: start it',
    ]);
  });
});

describe('the file of a client', () => {
  const entries = [[['mcpServers', 'starloom'], { url: 'http://x/mcp' }]] as const;

  it('keeps everything else that is in it', () => {
    const before = '{"theme":"dark","mcpServers":{"other":{"command":"x"}}}';
    expect(JSON.parse(withEntries('a.json', before, entries))).toEqual({
      theme: 'dark',
      mcpServers: { other: { command: 'x' }, starloom: { url: 'http://x/mcp' } },
    });
    const now = withEntries('a.json', before, entries);
    expect(withEntries('a.json', now, entries)).toBe(now);
    const toml = '# mine\nmodel = "x"\n\n[mcp_servers.starloom]\nurl = "old"\n\n[other]\na = 1\n';
    expect(withEntries('a.toml', toml, [[['mcp_servers', 'starloom'], { url: 'new' }]])).toBe(
      '# mine\nmodel = "x"\n\n[mcp_servers.starloom]\nurl = "new"\n\n[other]\na = 1\n',
    );
  });

  it('is left as it is when it has comments', () => {
    expect(() => withEntries('a.json', '{ // mine\n}', entries)).toThrow(/comments/);
  });
});
