import { FabricError } from '@starloom/core';
import { Child } from '../../child.ts';
import { type Cores, onOtherCores } from '../../cores.ts';
import { ownProgram } from '../../own-program.ts';
import type { Answer, ClientWork, WorkKind } from './work.ts';

/** A hang guard: longer than anything that is measured. */
const MAX_MS = 120_000;

/** The process that all clients of the gateway live in. */
export class Clients implements AsyncDisposable {
  readonly #child: Child;

  static async start(cores: Cores | undefined): Promise<Clients> {
    const program = onOtherCores(ownProgram('coordination/clients/main.ts'), cores);
    return new Clients(await Child.start(program));
  }

  private constructor(child: Child) {
    this.#child = child;
  }

  /** UPSTREAM_ERROR when something was not as it should be. */
  async run<Kind extends WorkKind>(
    work: ClientWork[Kind]['work'] & { readonly kind: Kind },
    signal: AbortSignal,
  ): Promise<ClientWork[Kind]['result']> {
    await this.#child.send(work);
    const timeoutMs = MAX_MS + ('measureMs' in work ? work.measureMs : 0);
    const answer = (await this.#child.receive(timeoutMs, signal)) as Answer<Kind>;
    if ('result' in answer) return answer.result;
    throw new FabricError('UPSTREAM_ERROR', answer.failure, { details: { kind: work.kind } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
  }
}
