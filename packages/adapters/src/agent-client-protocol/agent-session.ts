// A session of the agent, which is a conversation of one caller. Its prompts run one after the other.

import type { PromptTurn } from './prompt-turn.ts';

export interface RunningTurn {
  readonly turn: PromptTurn;
  /** Resolves when the agent answered the prompt, or its process ended. */
  readonly ended: Promise<void>;
}

export class EditorSession {
  readonly id: string;
  /** Updates and requests of the agent belong to it. */
  running: RunningTurn | undefined;
  #last: Promise<void> = Promise.resolve();
  #turns = 0;

  constructor(id: string) {
    this.id = id;
  }

  /** No prompt runs or waits. */
  get isIdle(): boolean {
    return this.#turns === 0;
  }

  /** Resolves when the turns before are over, with what ends this one. */
  async takeTurn(): Promise<() => void> {
    const before = this.#last;
    const turn = Promise.withResolvers<void>();
    this.#last = turn.promise;
    this.#turns += 1;
    let isOver = false;
    await before;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#turns -= 1;
      turn.resolve();
    };
  }
}
