/** Carries JSON-RPC messages, one text each, until it is closed. */
export interface Transport {
  /** Throws, or does nothing, when it is closed. */
  send(text: string): void;
  onmessage: ((text: string) => void) | undefined;
  /** Called once, whoever closed it; with the code of the WebSocket, where there is one. */
  onclose: ((code?: number) => void) | undefined;
  close(): void;
}

/** Makes a new transport, now and after each loss; nobody wants it any more when the signal aborts. */
export type Connect = (signal: AbortSignal) => Promise<Transport>;
