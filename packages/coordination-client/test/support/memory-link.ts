import type { Coordination, RpcPeer } from '@starloom/coordination';
import type { Transport } from '../../src/index.ts';

type Message = Record<string, unknown>;

/** Connects clients to coordination without a network, and cuts them off. */
export class MemoryLink {
  readonly #coordination: Coordination;
  readonly #open = new Set<{ cut(): void; say(message: Message): void }>();
  /** How often a client connected. */
  connections = 0;
  /** How often each message of the server arrives. */
  copies = 1;
  /** While true, whoever connects is refused. */
  isDown = false;
  /** Sees every message of the clients before the server does; false drops it. */
  onSend: (message: { method: string; params: Message }) => boolean = () => true;
  /** Sees every message of the server; false drops it. */
  onAnswer: (message: Message) => boolean = () => true;

  constructor(coordination: Coordination) {
    this.#coordination = coordination;
  }

  readonly connect = async (): Promise<Transport> => {
    if (this.isDown) throw new Error('the link is down');
    this.connections += 1;
    let isOpen = true;
    const deliver = (message: Message) => {
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
    const say = (message: Message) => transport.onmessage?.(JSON.stringify(message));
    const entry = { cut: end, say };
    const transport: Transport = {
      onmessage: undefined,
      onclose: undefined,
      send: (text) => {
        if (!isOpen || !this.onSend(JSON.parse(text))) return;
        void peer.reply(JSON.parse(text)).then((reply) => {
          if (reply !== undefined) deliver(JSON.parse(reply.toText()));
        });
      },
      close: end,
    };
    this.#open.add(entry);
    return transport;
  };

  /** What a server might say. */
  say(message: Message): void {
    for (const { say } of [...this.#open]) say({ jsonrpc: '2.0', ...message });
  }

  cut(): void {
    for (const { cut } of [...this.#open]) cut();
  }
}
