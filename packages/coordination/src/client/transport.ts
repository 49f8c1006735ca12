/** Carries JSON-RPC messages, one text each, until it is closed. */
export interface Transport {
  /** Throws, or does nothing, when it is closed. */
  send(text: string): void;
  onmessage: ((text: string) => void) | undefined;
  /** Called once, whoever closed it. */
  onclose: (() => void) | undefined;
  close(): void;
}

/** Makes a new transport, now and after each loss. */
export type Connect = () => Promise<Transport>;
