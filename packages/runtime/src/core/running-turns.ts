// What an agent is doing right now, so that it can be stopped as a whole. While it does something the
// process stays: neither a silent model nor a deadline would keep it.

import { holdProcess } from '@starloom/wire';

export class RunningTurns {
  readonly #controllers = new Set<AbortController>();
  #idle = Promise.withResolvers<void>();
  #reason: unknown;
  #hold: Disposable | undefined;

  /** A signal that aborts with `parent`, or when everything is stopped. Dispose of it at the end. */
  start(parent: AbortSignal | undefined): { readonly signal: AbortSignal } & Disposable {
    const controller = new AbortController();
    const follow = () => controller.abort(parent?.reason);
    if (parent?.aborted) follow();
    else parent?.addEventListener('abort', follow, { once: true });
    if (this.#reason !== undefined) controller.abort(this.#reason);
    this.#hold ??= holdProcess();
    this.#controllers.add(controller);
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        parent?.removeEventListener('abort', follow);
        this.#controllers.delete(controller);
        if (this.#controllers.size === 0) this.#end();
      },
    };
  }

  /** Aborts what runs and what is still to come; resolves when nothing runs any more. */
  async stop(reason: unknown): Promise<void> {
    this.#reason = reason;
    if (this.#controllers.size === 0) return;
    this.#idle = Promise.withResolvers();
    for (const controller of this.#controllers) controller.abort(reason);
    await this.#idle.promise;
  }

  #end(): void {
    this.#hold?.[Symbol.dispose]();
    this.#hold = undefined;
    this.#idle.resolve();
  }
}
