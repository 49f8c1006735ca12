// Parts of a stream in the order in which they began. The first that is still open flows as it
// comes; what began after it waits until it is closed. (Some models close a text only after the call
// that follows it, and what they know of the text comes with its end.)

import type { ProviderEvent } from '@starloom/sdk';

export interface OpenPart {
  readonly waiting: ProviderEvent[];
  isOpen: boolean;
}

export class PartQueue {
  readonly #parts: OpenPart[] = [];

  begin(): OpenPart {
    const part: OpenPart = { waiting: [], isOpen: true };
    this.#parts.push(part);
    return part;
  }

  /** A part that is all there at once. */
  add(event: ProviderEvent): void {
    this.#parts.push({ waiting: [event], isOpen: false });
  }

  /** What may flow now. */
  *take(): Generator<ProviderEvent> {
    for (let part = this.#parts[0]; part !== undefined; part = this.#parts[0]) {
      yield* part.waiting.splice(0);
      if (part.isOpen) return;
      this.#parts.shift();
    }
  }

  closeAll(): void {
    for (const part of this.#parts) part.isOpen = false;
  }
}
