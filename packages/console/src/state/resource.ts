// What a screen shows of the gateway: read once, kept while it is read again, and read again when a
// line of the stream says that it changed. Old figures stay with their age; nothing blinks.

import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { NotRunning, Page, StreamLine, Success } from '../api-types.ts';
import { act, GatewayError, type Query, request } from './api.ts';
import { useLines } from './live.ts';

/** What there is to show: the data, why there is none, or neither while it is read. */
export interface Readable<T> {
  readonly data: Success<T> | undefined;
  readonly off: NotRunning | undefined;
  readonly error: GatewayError | undefined;
  reload(): void;
}

export interface Resource<T> extends Readable<T> {
  /** Shows what an action answered, without another request. */
  set(data: Success<T>): void;
}

type State<T> = Partial<Omit<Readable<T>, 'reload'>> & {
  readonly key: string;
  readonly readAt: number;
};

const SOONEST_MS = 700;

export function useResource<T>(
  path: string | undefined,
  query: Query = {},
  changedBy: (line: StreamLine) => boolean = () => false,
): Resource<T> {
  const key = path === undefined ? '' : `${path}?${JSON.stringify(query)}`;
  const state: Signal<State<T>> = useSignal({ key: '', readAt: 0 });
  const reading = useRef<AbortController | undefined>(undefined);
  const due = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const read = async () => {
    if (path === undefined) return;
    clearTimeout(due.current);
    due.current = undefined;
    reading.current?.abort();
    const controller = new AbortController();
    reading.current = controller;
    if (state.peek().key !== key) state.value = { key, readAt: 0 };
    try {
      const answer = await request<T>('GET', path, { query, signal: controller.signal });
      const readAt = Date.now();
      if (controller.signal.aborted) return;
      state.value = { key, readAt, ...(answer.running ? { data: answer } : { off: answer }) };
    } catch (error) {
      if (controller.signal.aborted) return;
      const { data, readAt } = state.peek();
      state.value = { key, data, readAt, error: GatewayError.from(error) };
    }
  };
  const later = () => {
    if (due.current !== undefined) return;
    const wait = Math.max(60, SOONEST_MS - (Date.now() - state.peek().readAt));
    due.current = setTimeout(() => void read(), wait);
  };

  useEffect(() => {
    void read();
    return () => {
      clearTimeout(due.current);
      due.current = undefined;
      reading.current?.abort();
    };
  }, [key]);
  useLines(
    (line) => {
      const isGap = line.type === 'reload' || (line.type === 'hello' && state.peek().readAt > 0);
      if (isGap || changedBy(line)) later();
    },
    [key],
  );

  const { data, off, error } = state.value.key === key ? state.value : ({} as Partial<State<T>>);
  return {
    data,
    off,
    error,
    reload: () => void read(),
    set: (answer) => {
      state.value = { key, data: answer, readAt: Date.now() };
    },
  };
}

export interface Older<T> {
  readonly pages: readonly T[];
  readonly hasMore: boolean;
  read(): Promise<void>;
}

/** The pages after the first one, which is the resource; read when the person asks for them. */
export function useOlder<T extends Page>(
  first: Resource<T>,
  path: string,
  query: Query,
): Older<Success<T>> {
  const key = JSON.stringify(query);
  const state = useSignal<{ key: string; pages: readonly Success<T>[] }>({ key, pages: [] });
  const isReading = useRef(false);
  const pages = state.value.key === key ? state.value.pages : [];
  const cursor = (pages.at(-1) ?? first.data)?.next_cursor;
  return {
    pages,
    hasMore: cursor !== undefined,
    async read() {
      if (cursor === undefined || isReading.current) return;
      isReading.current = true;
      try {
        const page = await act<T>('GET', path, undefined, { ...query, cursor });
        state.value = { key, pages: [...pages, page] };
      } finally {
        isReading.current = false;
      }
    },
  };
}
