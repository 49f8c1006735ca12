// One circuit breaker per agent. It opens after failures in a row, lets a single call through when
// its rest is over, and closes on the first success. What a caller did wrong, a refused recursion,
// a full agent and an error the agent answered properly do not count. A caller that gave the agent
// less time than it asks for has a circuit of its own: no caller opens that of the others.

import type { Clock, FabricError } from '@starloom/core';

export type BreakerState = 'closed' | 'open' | 'half-open';

export interface BreakerOptions {
  readonly clock: Clock;
  readonly failures?: number;
  /** First rest; it doubles with each failed trial up to `maxRestMs`. */
  readonly restMs?: number;
  readonly maxRestMs?: number;
  readonly onChange?: (agentId: string, state: BreakerState) => void;
}

interface Circuit {
  failures: number;
  state: BreakerState;
  restMs: number;
  openUntil: number;
}

/** Whose failure it was, where it may be the caller's own. */
export interface CallerCircuit {
  readonly principalId: string;
  /** The time given was shorter than the capability's own. */
  readonly isImpatient: boolean;
}

const COUNTED = new Set(['AGENT_OFFLINE', 'TIMEOUT', 'UPSTREAM_ERROR', 'OVERLOADED', 'INTERNAL']);

export class Breakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #clock: Clock;
  readonly #failures: number;
  readonly #restMs: number;
  readonly #maxRestMs: number;
  readonly #onChange: BreakerOptions['onChange'];

  constructor({
    clock,
    failures = 5,
    restMs = 5_000,
    maxRestMs = 60_000,
    onChange,
  }: BreakerOptions) {
    this.#clock = clock;
    this.#failures = failures;
    this.#restMs = restMs;
    this.#maxRestMs = maxRestMs;
    this.#onChange = onChange;
  }

  state(agentId: string): BreakerState {
    return this.#circuits.get(agentId)?.state ?? 'closed';
  }

  /** Would a call be let through now? Changes nothing. */
  isOpen(agentId: string, principalId?: string): boolean {
    return namesOf(agentId, principalId).some((name) => this.#isOpen(name));
  }

  /** Lets a call through, or not; after its rest an open circuit lets one through as a trial. */
  admit(agentId: string, principalId?: string): boolean {
    if (this.isOpen(agentId, principalId)) return false;
    for (const name of namesOf(agentId, principalId)) {
      const circuit = this.#circuits.get(name);
      if (circuit?.state === 'open') this.#change(name, circuit, 'half-open');
    }
    return true;
  }

  succeeded(agentId: string, principalId?: string): void {
    for (const name of namesOf(agentId, principalId)) {
      const circuit = this.#circuits.get(name);
      if (!circuit) continue;
      this.#circuits.delete(name);
      if (circuit.state !== 'closed') this.#tell(name, 'closed');
    }
  }

  failed(agentId: string, error: FabricError, caller?: CallerCircuit): void {
    const [shared, own] = namesOf(agentId, caller?.principalId);
    const isOwn = own !== undefined && caller?.isImpatient && error.code === 'TIMEOUT';
    const counts = isCounted(error) ? (isOwn ? own : shared) : undefined;
    for (const name of [shared, own]) if (name !== undefined && name !== counts) this.#ended(name);
    if (counts !== undefined) this.#count(counts);
  }

  forget(agentId: string): void {
    for (const name of [...this.#circuits.keys()]) {
      if (name === agentId || name.startsWith(`${agentId} `)) this.#circuits.delete(name);
    }
  }

  #isOpen(name: string): boolean {
    const circuit = this.#circuits.get(name);
    if (!circuit || circuit.state === 'closed') return false;
    return circuit.state === 'half-open' || circuit.openUntil > this.#clock.monotonic();
  }

  #count(name: string): void {
    const circuit = this.#circuits.get(name) ?? {
      failures: 0,
      state: 'closed',
      restMs: this.#restMs,
      openUntil: 0,
    };
    this.#circuits.set(name, circuit);
    circuit.failures += 1;
    if (circuit.state === 'half-open')
      circuit.restMs = Math.min(circuit.restMs * 2, this.#maxRestMs);
    else if (circuit.failures < this.#failures) return;
    circuit.openUntil = this.#clock.monotonic() + circuit.restMs;
    this.#change(name, circuit, 'open');
  }

  /** A trial that proved nothing: the next call may try. */
  #ended(name: string): void {
    const circuit = this.#circuits.get(name);
    if (circuit?.state !== 'half-open') return;
    circuit.openUntil = this.#clock.monotonic();
    this.#change(name, circuit, 'open');
  }

  #change(name: string, circuit: Circuit, state: BreakerState): void {
    if (circuit.state === state) return;
    circuit.state = state;
    this.#tell(name, state);
  }

  /** Reports no circuit that belongs to one caller alone. */
  #tell(name: string, state: BreakerState): void {
    if (!name.includes(' ')) this.#onChange?.(name, state);
  }
}

/** An agent's circuit, and the caller's own; no agent id has a space in it. */
function namesOf(agentId: string, principalId: string | undefined): [string, ...string[]] {
  return principalId === undefined ? [agentId] : [agentId, `${agentId} ${principalId}`];
}

function isCounted(error: FabricError): boolean {
  const isOurs = error.code === 'OVERLOADED' && error.details.reason === 'calls_per_agent';
  return COUNTED.has(error.code) && !error.isAgentAnswer && !isOurs;
}
