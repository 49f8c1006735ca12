import type { Transport } from '../../src/client/index.ts';
import type { Coordination, RpcPeer } from '../../src/index.ts';

/** Connects clients to coordination without a network, and cuts them off. */
export class MemoryLink {
  readonly #coordination: Coordination;
  readonly #open = new Set<{ cut(): void }>();
  /** How often a client connected. */
  connections = 0;
  /** How often each message of the server arrives. */
  copies = 1;
  /** While true, whoever connects is refused. */
  isDown = false;
  /** Sees every message of the clients before the server does; false drops it. */
  onSend: (message: { method: string; params: Record<string, unknown> }) => boolean = () => true;
  /** Sees every message of the server; false drops it. */
  onAnswer: (message: Record<string, unknown>) => boolean = () => true;

  constructor(coordination: Coordination) {
    this.#coordination = coordination;
  }

  readonly connect = async (): Promise<Transport> => {
    if (this.isDown) throw new Error('the link is down');
    this.connections += 1;
    let isOpen = true;
    const deliver = (message: Record<string, unknown>) => {
      if (!isOpen || !this.onAnswer(message)) return;
      for (let n = 0; n < this.copies; n += 1) transport.onmessage?.(JSON.stringify(message));
    };
    const peer: RpcPeer = this.#coordination.connect({
      principal: { id: 'ci' },
      push: (notification) => deliver(JSON.parse(notification)),
    });
    const end = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#open.delete(entry);
      void peer.close();
      transport.onclose?.();
    };
    const entry = { cut: end };
    const transport: Transport = {
      onmessage: undefined,
      onclose: undefined,
      send: (text) => {
        if (!isOpen || !this.onSend(JSON.parse(text))) return;
        void peer.handleText(text).then((answer) => {
          if (answer !== undefined) deliver(JSON.parse(answer));
        });
      },
      close: end,
    };
    this.#open.add(entry);
    return transport;
  };

  cut(): void {
    for (const { cut } of [...this.#open]) cut();
  }
}
