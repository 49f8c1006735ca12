// Notices a model that keeps failing: first it is warned, then it is instructed to ask the user, then the
// turn ends. Counts within one turn: the user's next message is a fresh start. The turn never ends
// before the model has heard advice and had a step to follow it.

import { canonicalJson } from '@starloom/core';
import type { ToolCall } from '@starloom/sdk';
import { failure } from '../reasons.ts';

export interface Advice {
  readonly reason: 'same_call_fails' | 'failures_in_a_row';
  /** For the model. */
  readonly message: string;
}

/** A call and why it failed, if it did. */
interface NotedCall {
  readonly call: ToolCall;
  readonly error?: unknown;
}

const SAME_CALL_FAILS = 3;
const FAILURES_IN_A_ROW = 5;
const WINDOW = 10;
const FAILURES_IN_WINDOW = 8;

export class FailureBreaker {
  readonly #failuresOf = new Map<string, number>();
  /** The newest calls, true where one failed. */
  #window: boolean[] = [];
  #inARow = 0;
  #wasAdvised = false;

  /** What the model should hear after the calls of one step; throws when it is time to stop. */
  note(calls: readonly NotedCall[]): Advice[] {
    const hadAdvice = this.#wasAdvised;
    const advice = calls.flatMap((noted) => this.#noteOne(noted));
    if (hadAdvice) this.#assertHope();
    this.#wasAdvised ||= advice.length > 0;
    return advice;
  }

  #noteOne({ call, error }: NotedCall): Advice | [] {
    const failed = error !== undefined;
    this.#window = [...this.#window, failed].slice(-WINDOW);
    this.#inARow = failed ? this.#inARow + 1 : 0;
    if (!failed) return [];
    const args: unknown = JSON.parse(JSON.stringify(call.args) ?? 'null');
    const key = `${call.name} ${canonicalJson(args, { loneSurrogates: 'escape' })}`;
    const failures = (this.#failuresOf.get(key) ?? 0) + 1;
    this.#failuresOf.set(key, failures);
    if (this.#inARow === FAILURES_IN_A_ROW) return askTheUser(this.#inARow);
    return failures === SAME_CALL_FAILS ? changeCourse(call.name, failures) : [];
  }

  #assertHope(): void {
    const failures = this.#window.filter(Boolean).length;
    if (failures < FAILURES_IN_WINDOW) return;
    throw failure('repeated_failures', { failures, calls: this.#window.length });
  }
}

function askTheUser(failures: number): Advice {
  return {
    reason: 'failures_in_a_row',
    message: `${failures} tool calls failed in a row. Stop calling tools; tell the user what you tried and ask how to go on.`,
  };
}

function changeCourse(name: string, failures: number): Advice {
  return {
    reason: 'same_call_fails',
    message: `The same call of ${name} has failed ${failures} times. Do not repeat it; change the arguments or take another way.`,
  };
}
