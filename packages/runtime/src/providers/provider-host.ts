import type { Log } from '@starloom/core';
import type { IProvider, ProviderEvent } from '@starloom/sdk';

/** What a provider is given when it is opened. */
export interface ProviderHost {
  /** The folder of `agent.json`: packages and relative paths are found from here. */
  readonly folder: string;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A provider with its connections. It streams; the buffered answer is asked for as such. */
export interface OpenedProvider extends IProvider {
  stream: NonNullable<IProvider['stream']>;
  close(): Promise<void>;
}

/** The event; the last one also says how long the answer took since `started`. */
export function withLatency(event: ProviderEvent, started: number): ProviderEvent {
  if (event.type !== 'finish') return event;
  const latencyMs = Math.round(performance.now() - started);
  return { type: 'finish', metadata: { ...event.metadata, latencyMs } };
}
