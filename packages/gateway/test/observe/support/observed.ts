import { createTrace } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import {
  type CallStart,
  createObserver,
  type Observer,
  type ObserverOptions,
} from '../../../src/observe/observer.ts';
import { LogLines } from './log-lines.ts';

/** An observer with a clock that stands still and a log that can be read. */
export function openObserver(options: Partial<ObserverOptions> = {}) {
  const lines = new LogLines();
  const clock = new ManualClock();
  const observer = createObserver({
    level: 'info',
    otlp: null,
    version: '1.2.3',
    clock,
    destination: lines,
    ...options,
  });
  return { observer, lines, clock };
}

/** A request whose line is written to no log. */
export function startRequest() {
  const { observer } = openObserver();
  return observer.requestStarted({ face: 'rpc', transport: 'ws', headers: {} });
}

export function startCall(observer: Observer, more: Partial<CallStart> = {}) {
  return observer.callStarted({
    trace: createTrace(),
    transport: 'http',
    method: 'tools/call',
    name: 'fabric.call',
    principal: 'alice',
    stream: false,
    ...more,
  });
}

export const PERCY = { agentId: 'percy', nodeId: 'node-1', protocol: 'mcp', index: 0 } as const;

/** A call that percy answers. */
export function servedCall(observer: Observer, more: Partial<CallStart> = {}): void {
  const call = startCall(observer, more);
  call.target('percy', 'reason');
  const attempt = call.attempt(PERCY);
  call.event('final');
  attempt.end({ ok: true });
  call.end({ ok: true, agentId: 'percy', fallback: false });
}

/** The samples of a scrape by name and labels. */
export async function samples(observer: Observer): Promise<Map<string, number>> {
  const text = await observer.metricsText();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}
