import { canStream } from './attempt-rules.ts';
import type { DispatchCall } from './dispatch.ts';
import type { FailedAttempt } from './exhausted.ts';
import type { Candidate } from './route.ts';

/** What a caller receives before each attempt: who is tried now, and what became of those before. */
export class Announcements {
  readonly #call: Pick<DispatchCall, 'emit' | 'request'>;
  /** Failures that the caller has received. */
  #announced = 0;
  #tokensSent = false;

  constructor(call: Pick<DispatchCall, 'emit' | 'request'>) {
    this.#call = call;
  }

  /** Parts of an answer went out that will not be finished. */
  brokeOff(): void {
    this.#tokensSent = true;
  }

  begin(
    candidate: Candidate,
    failures: readonly FailedAttempt[],
    degrade: boolean,
  ): Promise<void> | undefined {
    const { emit, request } = this.#call;
    const isDegraded = degrade || (request.stream && !canStream(candidate));
    if (isDegraded || this.#tokensSent || failures.length > this.#announced) {
      return this.#announceChange(candidate, failures, isDegraded);
    }
    return emit({ type: 'status', data: { state: 'started' } }, candidate.record.manifest.agent_id);
  }

  async #announceChange(
    candidate: Candidate,
    failures: readonly FailedAttempt[],
    isDegraded: boolean,
  ): Promise<void> {
    const { emit } = this.#call;
    const { agent_id } = candidate.record.manifest;
    if (this.#tokensSent) {
      await emit(
        { type: 'status', data: { state: 'discard', message: 'the answer starts over' } },
        agent_id,
      );
      this.#tokensSent = false;
    }
    const failed = failures.slice(this.#announced);
    this.#announced = failures.length;
    if (failed.length > 0) {
      const names = failed.map(({ attempt }) => `${attempt.agent_id} (${attempt.code})`);
      const message = `${names.join(', ')} failed, trying ${agent_id}`;
      await emit({ type: 'status', data: { state: 'retrying', message } }, agent_id);
    }
    if (isDegraded) {
      const message = `${agent_id} answers without streaming`;
      await emit({ type: 'status', data: { state: 'degraded', message } }, agent_id);
    }
    await emit({ type: 'status', data: { state: 'started' } }, agent_id);
  }
}
