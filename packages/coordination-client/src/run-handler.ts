// Handlers belong to the agent. What one throws, at once or later, goes to the log, or without a log
// is a warning of the process; it changes nothing else.

import { FabricError, type Log } from '@starloom/core';

/** Begins the handler at once; resolves when it is done, whatever came of it. */
export type RunHandler = (name: string, handler: () => unknown) => Promise<void>;

export function createRunHandler(log: Log | undefined): RunHandler {
  return async (name, handler) => {
    try {
      await handler();
    } catch (thrown) {
      report(log, name, thrown);
    }
  };
}

function report(log: Log | undefined, handler: string, cause: unknown): void {
  const message = `coordination: the handler of "${handler}" failed`;
  if (log) {
    log.error({ error: FabricError.from(cause), handler }, message);
    return;
  }
  const detail = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  process.emitWarning(message, { type: 'CoordinationWarning', detail });
}
