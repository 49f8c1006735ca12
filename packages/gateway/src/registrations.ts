// Agents that register themselves: what a principal may do with which names, before the registry decides.
// The tools, the coordination plane and the commands all come through here.

import {
  DEFAULT_LEASE_MS,
  FabricError,
  type HealthEntry,
  type InstanceEpoch,
  type Manifest,
  parseManifest,
  type Registrant,
  type Registrar,
  type Registration,
  type Registry,
} from '@starloom/core';
import { isMandated, isRegistryOperator, mayRegister, type Principal } from '@starloom/identity';
import { assertOwnRights, assertShared, type SharedRules } from '@starloom/registry';

export interface RegisterRequest {
  readonly manifest: unknown;
  /** 0: no lease, for operators. */
  readonly leaseMs?: number | undefined;
  readonly ifRevision?: number | undefined;
}

export class Registrations {
  readonly #registry: Registry;
  readonly #rules: SharedRules;

  constructor(registry: Registry, rules: SharedRules) {
    this.#registry = registry;
    this.#rules = rules;
  }

  /** `isOwnCommand`: an operator at this machine adds a program of it. */
  async register(
    principal: Principal,
    request: RegisterRequest,
    isOwnCommand = false,
  ): Promise<Registration> {
    const { leaseMs = DEFAULT_LEASE_MS, ifRevision } = request;
    const manifest = parseManifest(request.manifest);
    const by = this.assertMayAdd(principal, manifest, isOwnCommand);
    const isLasting = by.isOperator && leaseMs === 0;
    const lease = isLasting ? {} : { leaseMs };
    return await this.#registrar.register(manifest, by, { ...lease, ifRevision });
  }

  /** Whether this gateway would serve the agent, and for this principal. */
  assertMayAdd(principal: Principal, manifest: Manifest, isOwnCommand = false): Registrant {
    const by = toRegistrant(principal, manifest.agent_id);
    if (!isOwnCommand || !by.isOperator) assertShared(manifest, this.#rules);
    if (!by.isOperator) assertOwnRights(manifest, principal);
    return by;
  }

  async renew(principal: Principal, instance: InstanceEpoch): Promise<number> {
    const by = toRegistrant(principal, instance.agent_id);
    return (await this.#registrar.renew(instance, by)).expiresAt;
  }

  async drain(principal: Principal, instance: InstanceEpoch): Promise<void> {
    await this.#registrar.drain(instance, toRegistrant(principal, instance.agent_id));
  }

  async leave(principal: Principal, instance: InstanceEpoch): Promise<void> {
    await this.#registrar.leave(instance, toRegistrant(principal, instance.agent_id));
  }

  /** For operators. False when there is nothing of that name. */
  async remove(principal: Principal, agentId: string, nodeId?: string): Promise<boolean> {
    const by = toRegistrant(principal, agentId);
    if (!by.isOperator) throw notAllowed(agentId, 'admin:agents');
    return await this.#registrar.remove(agentId, nodeId, by);
  }

  async history(agentId: string, limit: number): Promise<readonly HealthEntry[]> {
    return await this.#registrar.history(agentId, limit);
  }

  get #registrar(): Registrar {
    const { registrar } = this.#registry;
    if (registrar) return registrar;
    const { kind } = this.#registry.status();
    throw new FabricError('BAD_INPUT', `The registry "${kind}" takes no registrations`, {
      details: { reason: 'no_registrar', kind, fix: 'use registry.kind yaml or postgres' },
    });
  }
}

/** An agent that acts by a mandate has the rights of its caller, which are not for that. */
function toRegistrant(principal: Principal, agentId: string): Registrant {
  if (isMandated(principal) || !mayRegister(principal, agentId)) {
    throw notAllowed(agentId, `register:${agentId}`);
  }
  return { principal: principal.id, isOperator: isRegistryOperator(principal) };
}

function notAllowed(agentId: string, scope: string): FabricError {
  return new FabricError('POLICY_DENIED', `This key may not register "${agentId}"`, {
    details: { reason: 'scope', agent_id: agentId, fix: `use a key with the scope ${scope}` },
  });
}
