import { FabricError } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { RootLog } from '../../src/observe/log.ts';
import type { LogLevel } from '../../src/observe/log-lines.ts';
import { LogLines } from './support/log-lines.ts';

function openLog(level: LogLevel = 'info') {
  const lines = new LogLines();
  const root = new RootLog({ level, destination: lines, clock: new ManualClock() });
  return { lines, root, log: root.log };
}

describe('log', () => {
  it('writes one JSON object a line: level as a word, ISO time, message', () => {
    const { lines, log } = openLog();
    log.warn({ agent_id: 'percy' }, 'agent is offline');
    expect(lines.all).toEqual([
      {
        level: 'warn',
        time: '2026-01-01T00:00:00.000Z',
        trace_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        span_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        agent_id: 'percy',
        message: 'agent is offline',
      },
    ]);
  });

  it('puts the fields of a child on each of its lines, grandchildren included', () => {
    const { lines, log } = openLog();
    const child = log.child({ trace_id: 't1', span_id: 's1' });
    child.info({}, 'one');
    child.child({ part: 'route' }).error({ n: 1 }, 'two');
    expect(lines.all).toMatchObject([
      { trace_id: 't1', span_id: 's1', message: 'one' },
      { trace_id: 't1', span_id: 's1', part: 'route', n: 1, level: 'error', message: 'two' },
    ]);
  });

  it('never writes a planted secret: not from fields, errors, children or messages', () => {
    const { lines, log } = openLog('debug');
    const secret = 's3cr3t-planted-value';
    const headers = { Authorization: `Bearer ${secret}`, Cookie: `id=${secret}`, accept: 'x' };
    const error = new FabricError('UPSTREAM_ERROR', `refused Bearer ${secret}`, {
      details: { headers, sent: { token: secret } },
      cause: new Error(`POST https://me:${secret}@percy/`),
    });
    log.debug({ headers, raw: ['X-Agent-Passport', secret] }, 'request');
    log.info({ args: { user: { password: secret }, api_key: secret } }, 'arguments');
    log.warn({ error }, `failed with token=${secret}`);
    log.error({ error: FabricError.from(new Error(`token: ${secret}`)) }, 'bug');
    log.child({ headers, secret }).info({}, 'child');
    expect(lines.all).toHaveLength(5);
    expect(lines.text).not.toContain(secret);
    expect(lines.all[0]).toMatchObject({ headers: { accept: 'x', Cookie: '[redacted]' } });
    expect(lines.all[3]).toMatchObject({ error: { code: 'INTERNAL', cause: { name: 'Error' } } });
  });

  it('leaves out what is below its level, and a change of level reaches children', () => {
    const { lines, root, log } = openLog('warn');
    const child = log.child({ part: 'x' });
    log.info({}, 'too low');
    child.debug({}, 'too low');
    root.writeClean('info', {}, 'call');
    expect(root.isEnabled('info')).toBe(false);
    root.setLevel('debug');
    child.debug({}, 'heard');
    root.writeClean('debug', { n: 1 }, 'call');
    root.setLevel('silent');
    log.error({}, 'not even this');
    expect(lines.all.map(({ message }) => message)).toEqual(['heard', 'call']);
  });

  it('flushes its destination', async () => {
    const { lines, root } = openLog();
    await root.flush();
    expect(lines.flushed).toBe(1);
    await new RootLog({ level: 'info', destination: { write: () => {} } }).flush();
  });
});
