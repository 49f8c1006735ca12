// One page that listens. What it does not read in time is not kept: lines about the same thing replace each
// other, and when too many wait all of them are dropped and the page gets a line that says to load again what it shows.

import type { ServerResponse } from 'node:http';
import type { StreamLine, Topic } from '@starloom/console/api-types';
import type { Principal } from '@starloom/identity';

const MAX_WAITING = 500;
const MAX_WAITING_LENGTH = 512 * 1024;

export interface PageStreamOptions {
  readonly sessionId: string;
  readonly principal: Principal;
  readonly topics: readonly Topic[];
  /** The trace and the session that the page looks at. */
  readonly trace?: string | undefined;
  readonly agentSession?: string | undefined;
}

export class PageStream {
  readonly options: PageStreamOptions;
  readonly #response: ServerResponse;
  readonly #waiting = new Map<string, string>();
  readonly #lost = new Set<Topic>();
  #length = 0;
  readonly #closers: (() => void)[] = [];

  constructor(response: ServerResponse, options: PageStreamOptions) {
    this.options = options;
    this.#response = response;
    response.on('drain', () => this.#flush());
    response.on('error', () => {});
    response.once('close', () => {
      for (const close of this.#closers.splice(0)) close();
    });
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  wants(topic: Topic): boolean {
    return this.options.topics.includes(topic);
  }

  /** Called when the page is gone. */
  onClose(close: () => void): void {
    if (this.isOpen) this.#closers.push(close);
    else close();
  }

  /** `key` names what the line is about: of two that wait, the later one is sent. */
  send(topic: Topic, key: string, line: StreamLine): void {
    if (!this.isOpen || !this.wants(topic)) return;
    if (!this.#response.writableNeedDrain) {
      this.#write(line);
      return;
    }
    if (this.#lost.has(topic)) return;
    const text = `${JSON.stringify(line)}\n`;
    this.#length += text.length - (this.#waiting.get(key)?.length ?? 0);
    this.#waiting.delete(key);
    this.#waiting.set(key, text);
    if (this.#waiting.size <= MAX_WAITING && this.#length <= MAX_WAITING_LENGTH) return;
    this.#forget();
    for (const each of this.options.topics) this.#lost.add(each);
  }

  /** Too much changed for lines. */
  reload(topic: Topic): void {
    this.send(topic, `reload ${topic}`, { type: 'reload', topics: [topic] });
  }

  /** Lines that are worth nothing later. */
  beat(line: StreamLine): void {
    if (this.isOpen && !this.#response.writableNeedDrain) this.#write(line);
  }

  end(reason: 'signed_out' | 'closing'): void {
    if (!this.isOpen) return;
    this.#forget();
    this.#write({ type: 'end', reason });
    this.#response.end();
  }

  #flush(): void {
    if (!this.isOpen) return;
    const texts = [...this.#waiting.values()].join('');
    this.#forget();
    const topics = [...this.#lost];
    this.#lost.clear();
    if (texts !== '') this.#response.write(texts);
    if (topics.length > 0) this.#write({ type: 'reload', topics });
  }

  #forget(): void {
    this.#waiting.clear();
    this.#length = 0;
  }

  #write(line: StreamLine): void {
    this.#response.write(`${JSON.stringify(line)}\n`);
  }
}
