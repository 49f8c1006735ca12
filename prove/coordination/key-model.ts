// One key of a context as a sequential object: a value and the version at which it last changed.
// After a write whose version nobody was told, the version is only known to be above the last.

import type { Json } from '@starloom/core';
import type { Recorded, Recording } from './history.ts';
import { checkLinearizable, type Model, type Timed } from './linearizability.ts';
import { type Violation, violation } from './violation.ts';

interface KeyState {
  readonly value: Json;
  readonly version: number;
  readonly isExact: boolean;
}

export const keyModel: Model<KeyState, Recorded> = {
  initial: { value: null, version: 0, isExact: true },
  keyOf: ({ value, version, isExact }) => JSON.stringify([value, version, isExact]),
  step(state, { operation, outcome }) {
    const told = outcome.kind === 'ok' ? outcome.result.version : undefined;
    if (outcome.kind === 'refused') {
      if (operation.kind !== 'cas') return state;
      return state.isExact && state.version === operation.ifVersion ? undefined : state;
    }
    switch (operation.kind) {
      case 'read':
        if (told === undefined || outcome.kind !== 'ok') return state;
        if (!mayBe(state, told) || !isSame(state.value, outcome.result.value)) return undefined;
        return { value: state.value, version: told, isExact: true };
      case 'cas':
        if (!mayBe(state, operation.ifVersion)) return undefined;
        return written({ ...state, version: operation.ifVersion }, operation.value, told);
      case 'write':
        return written(state, operation.value, told);
      case 'increment':
        return written(state, Number(state.value) + operation.by, told);
      default:
        return state;
    }
  },
};

/** Each key by itself: they are linearizable together when each is. */
export function checkKeys(recording: Recording): {
  readonly violations: readonly Violation[];
  readonly checked: number;
  readonly undecided: number;
} {
  const violations: Violation[] = [];
  let undecided = 0;
  const keys = callsByKey(recording);
  for (const [key, calls] of keys) {
    const verdict = checkLinearizable(keyModel, calls);
    if (verdict.kind === 'undecided') undecided += 1;
    if (verdict.kind !== 'violation') continue;
    const lines = ({ call }: Timed<Recorded>) => call;
    const excerpt = [...verdict.last.map(lines), 'none of these fits next:'];
    const message = `${key} showed what no single copy could`;
    violations.push(violation('linearizable', message, [...excerpt, ...verdict.stuck.map(lines)]));
  }
  return { violations, checked: keys.size, undecided };
}

function callsByKey({ operations }: Recording): Map<string, Timed<Recorded>[]> {
  const calls = operations.flatMap((call) => {
    const { operation, outcome, invokedAt, returnedAt } = call;
    if (!('key' in operation)) return [];
    const says = outcome.kind === 'ok' || isTelling(call) || outcome.kind === 'unknown';
    if (!says || (operation.kind === 'read' && outcome.kind !== 'ok')) return [];
    return [{ call, invokedAt, returnedAt }];
  });
  return Map.groupBy(calls, ({ call: { session, operation } }) => {
    return `${session} ${'key' in operation ? operation.key : ''}`;
  });
}

/** Of refusals only a conflict tells something about the key. */
function isTelling({ operation, outcome }: Recorded): boolean {
  return operation.kind === 'cas' && outcome.kind === 'refused' && outcome.reason === 'conflict';
}

function mayBe({ version, isExact }: KeyState, told: number): boolean {
  return isExact ? version === told : told > version;
}

function written(before: KeyState, value: Json, told: number | undefined): KeyState | undefined {
  if (told === undefined) return { value, version: before.version, isExact: false };
  return told > before.version ? { value, version: told, isExact: true } : undefined;
}

function isSame(value: Json, told: Json | undefined): boolean {
  return JSON.stringify(value) === JSON.stringify(told ?? null);
}
