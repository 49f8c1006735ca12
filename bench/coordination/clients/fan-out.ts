import { setTimeout as delay } from 'node:timers/promises';
import { cpuMicroseconds, mainThreadMicroseconds } from '../../process-usage.ts';
import { VALUE } from '../plan.ts';
import { Audience } from './audience.ts';
import { Connection } from './connection.ts';
import { TEXT, toFrame } from './frames.ts';
import type { Delivery, FanOutResult, FanOutWork } from './work.ts';
import { isDone, openWriter, type Writer } from './writer.ts';

/** Between updates, so that each finds a gateway that has nothing else to do. */
const GAP_MS = 10;
const OPENED_AT_ONCE = 50;

/** A session with its subscribers; every one of them must get each update once and in order. */
export class FanOut implements Disposable {
  readonly #writer: Writer;
  readonly #audience: Audience;
  readonly #connections: Disposable;
  #turn = 0;

  static async open({ address, subscribers }: FanOutWork): Promise<FanOut> {
    using opened = new DisposableStack();
    const writer = opened.use(await openWriter(address));
    const audience = new Audience();
    audience.add(writer.connection, isDone);
    const subscribe = async () => {
      const connection = opened.use(await Connection.open(address));
      const params = { session_id: writer.sessionId };
      await connection.ask({ method: 'context_coordinator.subscribe', params });
      audience.add(connection);
    };
    while (audience.size <= subscribers) {
      const missing = Math.min(OPENED_AT_ONCE, 1 + subscribers - audience.size);
      await Promise.all(Array.from({ length: missing }, subscribe));
    }
    return new FanOut(writer, audience, opened.move());
  }

  private constructor(writer: Writer, audience: Audience, connections: Disposable) {
    this.#writer = writer;
    this.#audience = audience;
    this.#connections = connections;
  }

  async measure({ measureMs, pid }: FanOutWork): Promise<FanOutResult> {
    const deliveries: Delivery[] = [];
    const cpuBefore = cpuMicroseconds(pid);
    const startedAt = performance.now();
    do {
      const before = mainThreadMicroseconds(pid);
      const delivery = await this.#deliver();
      await delay(GAP_MS);
      const used = since(before, mainThreadMicroseconds(pid));
      deliveries.push({ ...delivery, cpuMs: used && used / 1000 });
    } while (performance.now() - startedAt < measureMs);
    return { deliveries, cpuMicroseconds: since(cpuBefore, cpuMicroseconds(pid)) };
  }

  [Symbol.dispose](): void {
    this.#connections[Symbol.dispose]();
  }

  async #deliver(): Promise<Delivery> {
    const turn = this.#turn;
    this.#turn += 1;
    const frame = toUpdate(turn, this.#writer);
    const marker = `"turn":${turn},`;
    const isRight = (payload: Buffer) => payload.includes(marker);
    let startedAt = 0;
    const firstAt = await this.#audience.hear({ number: turn, isRight }, () => {
      startedAt = performance.now();
      this.#writer.connection.send(frame);
    });
    return { firstMs: firstAt - startedAt, lastMs: performance.now() - startedAt };
  }
}

function toUpdate(turn: number, { sessionId, lockToken }: Writer): Buffer {
  const update = { report: { turn, ...VALUE } };
  const params = { session_id: sessionId, lock_token: lockToken, update };
  const request = { jsonrpc: '2.0', id: turn, method: 'context_coordinator.update', params };
  return toFrame(TEXT, JSON.stringify(request));
}

function since(before: number | undefined, now: number | undefined): number | undefined {
  return before === undefined || now === undefined ? undefined : now - before;
}
