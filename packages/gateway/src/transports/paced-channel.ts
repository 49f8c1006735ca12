import type { MessageChannel } from './message-channel.ts';

export interface PacedChannel extends MessageChannel {
  /** Resolves when the reader has taken what was written so far; `undefined` when it has. */
  room(): Promise<void> | undefined;
}

/** A channel that knows whether its reader keeps up, also for writes that no caller waits for. */
export function pacedChannel(channel: MessageChannel): PacedChannel {
  let last: Promise<void> | undefined;
  return {
    open: (onText, onClose) => channel.open(onText, onClose),
    close: () => channel.close(),
    flushed: () => channel.flushed(),
    room: () => last,
    write(text) {
      const written = channel.write(text);
      if (written === undefined) return;
      const settled = written.then(forget, forget);
      function forget() {
        if (last === settled) last = undefined;
      }
      last = settled;
      return written;
    },
  };
}
