import { vi } from 'vitest';
import { World, type WorldOptions } from '../../../coordination/test/support/world.ts';
import { type CoordinationClient, openCoordinationClient } from '../../src/index.ts';
import { MemoryLink } from './memory-link.ts';

export const FAST = { backoffMs: { least: 1, most: 5 } };

/** Clients of one coordination; those that share a link are cut off together. */
export class ClientWorld implements AsyncDisposable {
  readonly world: World;
  readonly link: MemoryLink;
  readonly #clients: CoordinationClient[] = [];

  constructor(options: WorldOptions = {}) {
    this.world = new World(options);
    this.link = this.anotherLink();
  }

  anotherLink(): MemoryLink {
    return new MemoryLink(this.world.coordination);
  }

  async open(agentId: string, link = this.link): Promise<CoordinationClient> {
    const { connect } = link;
    const client = await openCoordinationClient({ connect, agentId, ...FAST });
    this.#clients.push(client);
    return client;
  }

  /** Nobody reaches the gateway any more. */
  goDown(): void {
    this.link.isDown = true;
    this.link.cut();
  }

  /** Time at the server and, where timers are faked, at the clients. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await this.world.advance(Math.min(left, STEP_MS));
      await vi.advanceTimersByTimeAsync(Math.min(left, STEP_MS));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.world[Symbol.asyncDispose]();
  }
}

const STEP_MS = 25;

/** For `vi.useFakeTimers`: what clients measure time with. */
export const CLIENT_TIMERS = {
  toFake: [
    'setTimeout',
    'clearTimeout',
    'setInterval',
    'clearInterval',
    'performance',
  ] as const satisfies string[],
};
