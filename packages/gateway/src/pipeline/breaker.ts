// One circuit breaker per agent. It opens after failures in a row, lets a single call through when
// its rest is over, and closes on the first success. What a caller did wrong, a refused recursion
// and an error the agent answered properly do not count.

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
  isOpen(agentId: string): boolean {
    const circuit = this.#circuits.get(agentId);
    if (!circuit || circuit.state === 'closed') return false;
    return circuit.state === 'half-open' || circuit.openUntil > this.#clock.monotonic();
  }

  /** Lets a call through, or not; after its rest an open circuit lets one through as a trial. */
  admit(agentId: string): boolean {
    const circuit = this.#circuits.get(agentId);
    if (!circuit || circuit.state === 'closed') return true;
    if (this.isOpen(agentId)) return false;
    this.#change(agentId, circuit, 'half-open');
    return true;
  }

  succeeded(agentId: string): void {
    const circuit = this.#circuits.get(agentId);
    if (!circuit) return;
    this.#circuits.delete(agentId);
    if (circuit.state !== 'closed') this.#onChange?.(agentId, 'closed');
  }

  failed(agentId: string, error: FabricError): void {
    if (!isCounted(error)) {
      this.#ended(agentId);
      return;
    }
    const circuit = this.#circuits.get(agentId) ?? {
      failures: 0,
      state: 'closed',
      restMs: this.#restMs,
      openUntil: 0,
    };
    this.#circuits.set(agentId, circuit);
    circuit.failures += 1;
    if (circuit.state === 'half-open')
      circuit.restMs = Math.min(circuit.restMs * 2, this.#maxRestMs);
    else if (circuit.failures < this.#failures) return;
    circuit.openUntil = this.#clock.monotonic() + circuit.restMs;
    this.#change(agentId, circuit, 'open');
  }

  forget(agentId: string): void {
    this.#circuits.delete(agentId);
  }

  /** A trial that proved nothing: the next call may try. */
  #ended(agentId: string): void {
    const circuit = this.#circuits.get(agentId);
    if (circuit?.state !== 'half-open') return;
    circuit.openUntil = this.#clock.monotonic();
    this.#change(agentId, circuit, 'open');
  }

  #change(agentId: string, circuit: Circuit, state: BreakerState): void {
    if (circuit.state === state) return;
    circuit.state = state;
    this.#onChange?.(agentId, state);
  }
}

function isCounted(error: FabricError): boolean {
  return COUNTED.has(error.code) && !error.isAgentAnswer;
}
