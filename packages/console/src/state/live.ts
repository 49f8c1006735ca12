// The one stream of the page. It reconnects by itself, says how old the last line is, and tells
// screens when they may have missed something. Screens name what they follow; the next stream is
// open before the last one is closed, so a change of screens loses nothing.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { StreamLine, Topic } from '../api-types.ts';
import { lines, send } from './api.ts';

export type LinkState = 'connecting' | 'live' | 'lost';

export const link = signal<LinkState>('connecting');
export const lastLineAt = signal(0);
/** Calls in flight at the gateway, as of the last beat. */
export const runningCalls = signal<number | undefined>(undefined);
export const inboxCount = signal<number | undefined>(undefined);

const SILENCE_MS = 25_000;
const MAX_WAIT_MS = 3000;
const ALWAYS: readonly Topic[] = ['calls', 'agents', 'jobs', 'inbox'];

type Listener = (line: StreamLine) => void;
const listeners = new Set<Listener>();
const interests = new Map<symbol, Interest>();

interface Interest {
  readonly trace?: string;
  readonly session?: string;
}

let current: AbortController | undefined;
let openedFor = '';
let failures = 0;
let retry: ReturnType<typeof setTimeout> | undefined;
let isStarted = false;

export function startStream(): void {
  if (isStarted) return;
  isStarted = true;
  addEventListener('online', reconnectNow);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && link.value === 'lost') reconnectNow();
  });
  setInterval(() => {
    if (link.value === 'live' && Date.now() - lastLineAt.value > SILENCE_MS) lose(current);
  }, 1000);
  void open();
}

export function stopStream(): void {
  isStarted = false;
  clearTimeout(retry);
  current?.abort();
  current = undefined;
  openedFor = '';
  link.value = 'connecting';
}

export function reconnectNow(): void {
  if (!isStarted || link.value === 'live') return;
  failures = 0;
  clearTimeout(retry);
  void open();
}

/** Calls `listener` with every line while the component is shown; `hello` says: read again. */
export function useLines(listener: Listener, deps: readonly unknown[] = []): void {
  useEffect(() => {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, deps);
}

/** Follows the events of one trace, or one session, while the component is shown. */
export function useInterest({ trace, session }: Interest): void {
  useEffect(() => {
    const key = Symbol();
    interests.set(key, { ...(trace && { trace }), ...(session && { session }) });
    queueMicrotask(reopen);
    return () => {
      interests.delete(key);
      queueMicrotask(reopen);
    };
  }, [trace, session]);
}

function wanted(): { topics: string; trace?: string; session?: string } {
  const all = [...interests.values()];
  const trace = all.findLast((interest) => interest.trace)?.trace;
  const session = all.findLast((interest) => interest.session !== undefined)?.session;
  const topics: Topic[] = [...ALWAYS];
  if (trace !== undefined) topics.push('trace');
  if (session !== undefined) topics.push('sessions');
  return {
    topics: topics.join(','),
    ...(trace !== undefined && { trace }),
    ...(session !== undefined && session !== '*' && { session }),
  };
}

function reopen(): void {
  if (isStarted && link.value === 'live' && JSON.stringify(wanted()) !== openedFor) void open();
}

async function open(): Promise<void> {
  const previous = current;
  const controller = new AbortController();
  current = controller;
  const query = wanted();
  openedFor = JSON.stringify(query);
  try {
    const response = await send('GET', 'events', { query, signal: controller.signal });
    for await (const line of lines<StreamLine>(response)) {
      if (current !== controller) return;
      if (line.type === 'hello') previous?.abort();
      take(line);
      if (line.type === 'end') break;
    }
  } catch {
    // Why does not matter here: the page shows that it is not live, and tries again.
  }
  if (current === controller) lose(controller);
}

function take(line: StreamLine): void {
  lastLineAt.value = Date.now();
  if (line.type === 'hello') {
    failures = 0;
    link.value = 'live';
    reopen();
  }
  if (line.type === 'beat') runningCalls.value = line.running;
  if (line.type === 'inbox') inboxCount.value = line.count;
  for (const listener of listeners) listener(line);
}

function lose(controller: AbortController | undefined): void {
  controller?.abort();
  current = undefined;
  if (!isStarted) return;
  link.value = 'lost';
  const wait = Math.min(MAX_WAIT_MS, 300 * 2 ** failures) * (0.7 + Math.random() * 0.3);
  failures += 1;
  clearTimeout(retry);
  retry = setTimeout(() => void open(), wait);
}
