// What a screen shows of the gateway: read once, kept while it is read again, and read again when a
// line of the stream says that it changed. Old figures stay with their age; nothing blinks.

import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { NotRunning, StreamLine, Success } from '../api-types.ts';
import { act, GatewayError, type Query, request } from './api.ts';
import { useLines } from './live.ts';

export interface Resource<T> {
  readonly data: Success<T> | undefined;
  readonly off: NotRunning | undefined;
  readonly error: GatewayError | undefined;
  readonly isLoading: boolean;
  readonly readAt: number;
  reload(): void;
  /** Shows what an action answered, without another request. */
  set(data: Success<T>): void;
}

interface State<T> {
  readonly key: string;
  readonly data?: Success<T>;
  readonly off?: NotRunning;
  readonly error?: GatewayError;
  readonly readAt: number;
  readonly isLoading: boolean;
}

const SOONEST_MS = 700;

export function useResource<T>(
  path: string | undefined,
  query: Query = {},
  changedBy: (line: StreamLine) => boolean = () => false,
): Resource<T> {
  const key = path === undefined ? '' : `${path}?${JSON.stringify(query)}`;
  const state: Signal<State<T>> = useSignal({ key: '', readAt: 0, isLoading: true });
  const reading = useRef<AbortController | undefined>(undefined);
  const due = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const read = async () => {
    if (path === undefined) return;
    clearTimeout(due.current);
    due.current = undefined;
    reading.current?.abort();
    const controller = new AbortController();
    reading.current = controller;
    if (state.peek().key !== key) state.value = { key, readAt: 0, isLoading: true };
    try {
      const answer = await request<T>('GET', path, { query, signal: controller.signal });
      const readAt = Date.now();
      if (controller.signal.aborted) return;
      state.value = answer.running
        ? { key, data: answer, readAt, isLoading: false }
        : { key, off: answer, readAt, isLoading: false };
    } catch (error) {
      if (controller.signal.aborted) return;
      const { data, readAt } = state.peek();
      const kept = state.peek().key === key && data !== undefined ? { data } : {};
      state.value = { key, ...kept, readAt, error: GatewayError.from(error), isLoading: false };
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

  const value = state.value.key === key ? state.value : { readAt: 0, isLoading: true };
  const { data, off, error } = value as State<T>;
  return {
    data,
    off,
    error,
    isLoading: value.isLoading,
    readAt: value.readAt,
    reload: () => void read(),
    set: (answer) => {
      state.value = { key, data: answer, readAt: Date.now(), isLoading: false };
    },
  };
}

interface Page {
  readonly next_cursor?: string;
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
