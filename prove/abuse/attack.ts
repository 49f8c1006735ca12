// What an attack is, and what it knows of the gateway it is aimed at.

import { setTimeout as delay } from 'node:timers/promises';
import type { HostileAgentName } from './hostile-agents.ts';

export interface Target {
  /** Of the gateway, without a path. */
  readonly url: string;
  /** A key of the attacker: tier `org`, every scope. */
  readonly key: string;
  /** The key of an ordinary caller, to see what the attack does to it. */
  readonly ordinaryKey: string;
  /** A session of the ordinary caller. */
  readonly session: string;
  /** It is the bare proxy, which holds whatever is sent. */
  readonly isProxy: boolean;
  /** How long the attack goes on, roughly. */
  readonly seconds: number;
}

export interface Outcome {
  /** How often the attacker did its thing. */
  readonly operations: number;
  /** What must not have happened; empty when the gateway held. */
  readonly problems: readonly string[];
  /** Worth knowing: how the gateway answered. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface Attack {
  readonly about: string;
  /** Agents that appear in `agents.yaml` when the attack begins, and leave at its end. */
  readonly agents?: readonly HostileAgentName[];
  /** The log must hold no line of level error afterwards. */
  readonly quietLog?: boolean;
  /** It is aimed at a bare proxy, too, to compare with. The others need what only the gateway has. */
  readonly isProxied?: boolean;
  run(target: Target): Promise<Outcome>;
}

/** Runs `count` loops side by side for the seconds of the target, at least once each. */
export async function loops(
  target: Target,
  count: number,
  act: (turn: number) => Promise<unknown>,
): Promise<void> {
  const end = performance.now() + target.seconds * 1_000;
  let turn = 0;
  const loop = async () => {
    do {
      turn += 1;
      await act(turn);
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: count }, loop));
}

/** Does something `count` times, `width` at a time. */
export async function times(
  count: number,
  width: number,
  act: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const loop = async () => {
    while (next < count) {
      next += 1;
      await act(next);
    }
  };
  await Promise.all(Array.from({ length: width }, loop));
}

/** Resolves with whether the condition came true in time. */
export async function comesTrue(check: () => boolean, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (!check()) {
    if (performance.now() > end) return false;
    await delay(20);
  }
  return true;
}

export class Counts {
  readonly counts: Record<string, number> = {};

  add(what: string, n = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + n;
  }

  of(what: string): number {
    return this.counts[what] ?? 0;
  }

  get total(): number {
    return Object.values(this.counts).reduce((sum, n) => sum + n, 0);
  }
}

/** The sentences whose condition is true. */
export function problemsIf(problems: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.keys(problems).filter((problem) => problems[problem]);
}
