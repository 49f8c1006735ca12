// A journal with many calls, written as a gateway writes it, before a gateway opens its folder.

import { hostname } from 'node:os';
import { join } from 'node:path';
import type { ErrorCode, JournalAttempt, JournalCall } from '@starloom/core';
import { openJournal } from '@starloom/journal';

const AGENTS = ['percy', 'coder', 'librarian', 'flaky', 'percy-backup'];
const CAPABILITIES = ['reason', 'code', 'lookup', 'reason', 'reason'];
const CODES: readonly ErrorCode[] = ['TIMEOUT', 'AGENT_OFFLINE', 'UPSTREAM_ERROR'];
const BATCH = 5_000;
const GAP_MS = 1_500;

/** The newest call ended just now, each one before it a moment earlier. */
export async function fillJournal(stateFolder: string, calls: number): Promise<void> {
  const path = join(stateFolder, 'journal', 'journal.sqlite');
  const journal = await openJournal({ kind: 'sqlite', path }, { calls, gateway: hostname() });
  const now = Date.now();
  for (let number = 1; number <= calls; number += 1) {
    journal.write(createCall(number, now - (calls - number) * GAP_MS));
    if (number % BATCH === 0) await journal.flushed();
  }
  await journal.flushed();
  const kept = await journal.check();
  await journal.close();
  if (kept.calls !== calls) throw new Error(`the journal kept ${kept.calls} of ${calls} calls`);
}

/** The same number gives the same call. */
function createCall(number: number, endedAt: number): JournalCall {
  const place = number % AGENTS.length;
  const agent = AGENTS[place] ?? 'percy';
  const ms = 12 + ((number * 37) % 900);
  const code = number % 17 === 0 ? (CODES[number % CODES.length] ?? null) : null;
  const fallback = code === null && agent === 'flaky';
  const attempt = (agent_id: string, more: Partial<JournalAttempt>): JournalAttempt => ({
    agent_id,
    node_id: 'local',
    protocol: 'mcp',
    fallback: false,
    began_ms: 2,
    ms: ms - 4,
    code: null,
    ...more,
  });
  const half = Math.floor(ms / 2);
  return {
    trace_id: toUuid(number, '1'),
    span_id: toUuid(number, '2'),
    parent_span_id: null,
    gateway: hostname(),
    face: number % 4 === 0 ? 'a2a' : 'mcp',
    transport: 'http',
    tool: 'fabric.call',
    principal: number % 3 === 0 ? 'ci' : 'ada',
    depth: 1,
    chain: [],
    agent_id: agent,
    capability: CAPABILITIES[place] ?? 'reason',
    stream: false,
    admitted_ms: 0,
    routed_ms: 1,
    attempts: fallback
      ? [
          attempt(agent, { ms: half, code: 'AGENT_OFFLINE' }),
          attempt('percy', { fallback: true, began_ms: half + 2, ms: ms - half - 4 }),
        ]
      : [attempt(agent, { code })],
    fallback,
    events: { token: 40, final: 1 },
    first_events: [
      ['token', 3],
      ['final', ms - 2],
    ],
    bytes_in: 120 + (number % 90),
    bytes_out: 800 + ((number * 13) % 4000),
    began_at: endedAt - ms,
    ended_at: endedAt,
    ms,
    code,
  };
}

function toUuid(number: number, kind: string): string {
  const hex = number.toString(16).padStart(8, '0');
  return `${hex}-${kind}000-4000-8000-${hex.padStart(12, '0')}`;
}
