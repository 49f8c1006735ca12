import type { ProviderEvent } from '@starloom/sdk';

/** The event; the last one also says how long the answer took since `started`. */
export function timed(event: ProviderEvent, started: number): ProviderEvent {
  if (event.type !== 'finish') return event;
  const latencyMs = Math.round(performance.now() - started);
  return { type: 'finish', metadata: { ...event.metadata, latencyMs } };
}
