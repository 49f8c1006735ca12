// Something breaks every few hundred milliseconds, one thing at a time. Each kind comes once before
// chance alone decides, and the first round does not end before that.

import { setTimeout as delay } from 'node:timers/promises';
import { Deck } from './deck.ts';
import type { History } from './history.ts';
import type { PausedHolder } from './paused-holder.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

export interface FaultsOptions {
  readonly world: World;
  readonly holder: PausedHolder;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly onFault: (kind: string) => void;
}

const PAUSE = 'pause_holder';
const LATE_WRITE = 'late_write';
const CALM_MS = { least: 100, more: 500 };
/** Other faults may keep a paused holder from getting as far as its late write. */
const MAX_PAUSES = 10;

/** All that can happen in this world. */
export function faultKinds({ faults }: Pick<World, 'faults'>): readonly string[] {
  return [...Object.keys(faults), PAUSE, LATE_WRITE];
}

export class Faults {
  readonly #options: FaultsOptions;
  readonly #deck: Deck<string>;

  constructor(options: FaultsOptions) {
    const { world, random } = options;
    this.#options = options;
    this.#deck = new Deck([PAUSE, ...Object.keys(world.faults)], random);
  }

  /** For this long, and until each kind has happened. */
  async inject(history: History, session: string, forMs: number): Promise<void> {
    const { random, signal, onFault } = this.#options;
    const end = performance.now() + forMs;
    const isOver = () => performance.now() >= end && this.#deck.isThrough;
    while (!isOver()) {
      const calm = CALM_MS.least + random.below(CALM_MS.more);
      await delay(calm, undefined, { signal });
      if (isOver()) return;
      const kind = this.#deck.draw();
      if (kind === PAUSE) await this.#pause(history, session);
      else await this.#options.world.faults[kind]?.();
      onFault(kind);
    }
  }

  async #pause(history: History, session: string): Promise<void> {
    const { world, holder, random, signal, onFault } = this.#options;
    for (let left = MAX_PAUSES; left > 0; left -= 1) {
      const gateway = random.pick(world.gateways);
      if (await holder.pause({ gateway, history, session, signal })) return onFault(LATE_WRITE);
    }
  }
}
