import { FabricError, type Log } from '@starloom/core';
import type { Send } from './link.ts';
import { type Params, rpcCodeOf } from './requests.ts';
import type { MethodResult } from './services.ts';

const REMEMBERED = 1_000;

/** The sessions that the client uses: it missed their notices while it was away. */
export class KnownSessions {
  readonly #agentId: string;
  readonly #log: Log;
  #ids = new Set<string>();

  constructor(agentId: string, log: Log) {
    this.#agentId = agentId;
    this.#log = log;
  }

  onAnswered(method: string, params: Params, result: Params): void {
    if (method === 'session_manager.leave' && this.#isOwn(params)) this.#forget(params);
    else this.#note({ ...params, ...result });
  }

  onPushed(method: string, params: Params): void {
    if (method === 'session_manager.agent_left' && this.#isOwn(params)) this.#forget(params);
    else this.#note(params);
  }

  /** Those it was in before, some of which may be over, and those it is in now. */
  async list(send: Send): Promise<readonly string[]> {
    const before = this.#ids;
    this.#ids = new Set(await this.#readList(send));
    return [...before.union(this.#ids)];
  }

  #note({ session_id }: Params): void {
    if (typeof session_id !== 'string' || this.#ids.has(session_id)) return;
    const [oldest] = this.#ids;
    if (oldest !== undefined && this.#ids.size >= REMEMBERED) this.#ids.delete(oldest);
    this.#ids.add(session_id);
  }

  #forget({ session_id }: Params): void {
    this.#ids.delete(String(session_id));
  }

  #isOwn({ agent_id }: Params): boolean {
    return agent_id === undefined || agent_id === this.#agentId;
  }

  async #readList(send: Send): Promise<Iterable<string>> {
    try {
      const answer = await send('session_manager.list', {});
      const { sessions } = answer as MethodResult<'session_manager.list'>;
      return sessions.map(({ session_id }) => session_id);
    } catch (thrown) {
      if (rpcCodeOf(thrown) === undefined) throw thrown;
      const error = FabricError.from(thrown);
      this.#log.info({ error }, 'coordination: could not refresh the list of sessions');
      return this.#ids;
    }
  }
}
