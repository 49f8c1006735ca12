// One circuit breaker per agent, or per instance where an agent has several. It opens after failures in a row, lets a single call through when
// its rest is over, and closes on the first success. What a caller did wrong, a refused recursion,
// a full agent and an error the agent answered properly do not count. A caller that gave the agent
// less time than it asks for has a circuit of its own: no caller opens that of the others.

import type { Clock, FabricError } from '@starloom/core';
import { type BreakerState, Circuits, namesOf } from './agent-gate.ts';

interface BreakerOptions {
  readonly clock: Clock;
  readonly failures?: number;
  /** First rest; it doubles with each failed trial up to `maxRestMs`. */
  readonly restMs?: number;
  readonly maxRestMs?: number;
  readonly onChange?: (agentId: string, state: BreakerState) => void;
}

/** Whose failure it was, where it may be the caller's own. */
interface CallerCircuit {
  readonly principalId: string;
  /** The time given was shorter than the capability's own. */
  readonly isImpatient: boolean;
}

const COUNTED = new Set(['AGENT_OFFLINE', 'TIMEOUT', 'UPSTREAM_ERROR', 'OVERLOADED', 'INTERNAL']);

export class Breakers extends Circuits {
  readonly #failures: number;
  readonly #restMs: number;
  readonly #maxRestMs: number;

  constructor({
    clock,
    failures = 5,
    restMs = 5_000,
    maxRestMs = 60_000,
    onChange,
  }: BreakerOptions) {
    super(clock, onChange);
    this.#failures = failures;
    this.#restMs = restMs;
    this.#maxRestMs = maxRestMs;
  }

  failed(agentId: string, error: FabricError, caller?: CallerCircuit): void {
    const [shared, own] = namesOf(agentId, caller?.principalId);
    const isOwn = own !== undefined && caller?.isImpatient && error.code === 'TIMEOUT';
    const counts = isCounted(error) ? (isOwn ? own : shared) : undefined;
    for (const name of [shared, own])
      if (name !== undefined && name !== counts) this.#endTrial(name);
    if (counts !== undefined) this.#count(counts);
  }

  forget(agentId: string): void {
    for (const name of [...this.circuits.keys()]) {
      if (name === agentId || name.startsWith(`${agentId}\n`) || name.startsWith(`${agentId}@`))
        this.circuits.delete(name);
    }
  }

  #count(name: string): void {
    const circuit = this.circuits.get(name) ?? {
      failures: 0,
      state: 'closed',
      restMs: this.#restMs,
      openUntil: 0,
    };
    this.circuits.set(name, circuit);
    circuit.failures += 1;
    if (circuit.state === 'half-open')
      circuit.restMs = Math.min(circuit.restMs * 2, this.#maxRestMs);
    else if (circuit.failures < this.#failures) return;
    circuit.openUntil = this.clock.monotonic() + circuit.restMs;
    this.change(name, circuit, 'open');
  }

  /** A trial that proved nothing: the next call may try. */
  #endTrial(name: string): void {
    const circuit = this.circuits.get(name);
    if (circuit?.state !== 'half-open') return;
    circuit.openUntil = this.clock.monotonic();
    this.change(name, circuit, 'open');
  }
}

function isCounted(error: FabricError): boolean {
  const isOurs = error.code === 'OVERLOADED' && error.details.reason === 'calls_per_agent';
  return COUNTED.has(error.code) && !error.isAgentAnswer && !isOurs;
}
