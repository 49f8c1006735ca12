/** The code of the WebSocket; or that more came at once than the transport takes. */
export type CloseCause = number | 'answer_too_large';

/** Carries JSON-RPC messages, one text each, until it is closed. */
export interface Transport {
  /** Throws, or does nothing, when it is closed. */
  send(text: string): void;
  onmessage: ((text: string) => void) | undefined;
  /** Called once, whichever side closed it; with the cause, where that is known. */
  onclose: ((cause?: CloseCause) => void) | undefined;
  close(): void;
}

/**
 * Makes a new transport, now and after each loss; when the signal aborts, the client needs none.
 */
export type Connect = (signal: AbortSignal) => Promise<Transport>;
