import type { FabricError } from '@starloom/core';

/** A text as it came, or why it could not be read. */
export type Incoming = string | FabricError;

/** Carries one message at a time in each direction. */
export interface MessageChannel {
  /**
   * Calls back for each text that arrives, then once when the other side is gone. While a promise
   * that `onText` returned is pending, nothing is read; what was read before may still come.
   */
  open(onText: (text: Incoming) => Promise<void> | void, onClose: () => void): void;
  /**
   * Nothing when there is room for the next, else a promise of it. Throws when the reader is gone.
   */
  readonly write: (text: string) => Promise<void> | void;
  /** Resolves when all that was written has left this process, or the reader is gone. */
  flushed(): Promise<void>;
  close(): Promise<void>;
}
