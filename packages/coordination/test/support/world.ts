import type { Json } from '@starloom/core';
import { ManualClock } from '@starloom/core/testing';
import { expect } from 'vitest';
import type { z } from 'zod';
import {
  type Coordination,
  type CoordinationLimits,
  createCoordination,
  type MayUse,
  METHODS,
  type MethodName,
  type RpcError,
  type RpcPeer,
} from '../../src/index.ts';
import { MemoryCoordinationStore } from '../../src/testing.ts';

type Params<Name extends MethodName> = z.input<(typeof METHODS)[Name]['params']>;
type Result<Name extends MethodName> = z.output<(typeof METHODS)[Name]['result']>;

export interface Push {
  readonly method: string;
  readonly params: Record<string, Json>;
}

export interface WorldOptions {
  readonly limits?: Partial<CoordinationLimits>;
  readonly heartbeatIntervalMs?: number;
  readonly mayUse?: MayUse;
  readonly keepEvents?: number;
  readonly keepEventBytes?: number;
}

/** Coordination on the fake store, at a time of its own. */
export class World implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly store: MemoryCoordinationStore;
  readonly coordination: Coordination;

  constructor({ keepEvents = 10_000, keepEventBytes, ...options }: WorldOptions = {}) {
    const { clock } = this;
    this.store = new MemoryCoordinationStore({ clock, keepEvents, keepEventBytes });
    this.coordination = createCoordination({ store: this.store, clock, ...options });
  }

  /** A second gateway on the same store. */
  another(options: Pick<WorldOptions, 'limits'> = {}): Coordination {
    const { clock, store } = this;
    return createCoordination({ store, clock, ...options });
  }

  connect(principal = 'ci', options: Pick<ClientOptions, 'push' | 'coordination'> = {}): Client {
    return new Client(options.coordination ?? this.coordination, { principal, ...options });
  }

  /** A client whose agent is registered. */
  async agent(agentId: string, principal?: string): Promise<Client> {
    const client = this.connect(principal);
    client.agentId = agentId;
    const { epoch } = await client.call('agent_registry.register', {
      agent_id: agentId,
      capabilities: [],
    });
    client.epoch = epoch;
    return client;
  }

  /** Lets time pass, and what it makes due happen. */
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.coordination.sweep();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.coordination.close();
    await this.store.close();
  }
}

export interface ClientOptions {
  readonly principal: string;
  /** What takes pushes; by default they are kept in `pushes`. */
  readonly push?:
    | ((method: string, params: Push['params']) => Promise<void> | void)
    | null
    | undefined;
  readonly coordination?: Coordination;
}

export class Client {
  readonly pushes: Push[] = [];
  readonly peer: RpcPeer;
  agentId = '';
  epoch = 0;
  #nextId = 1;
  #room: Promise<void> | undefined;

  constructor(coordination: Coordination, { principal, push }: ClientOptions) {
    const take = push ?? ((method, params) => this.#take({ method, params }));
    this.peer = coordination.connect({
      principal: { id: principal },
      push: push === null ? undefined : (text) => take(...toPush(text)),
    });
  }

  /** The result, which must be as the table says. */
  async call<Name extends MethodName>(method: Name, params: Params<Name>): Promise<Result<Name>> {
    const answer = await this.#send(method, params);
    if ('error' in answer) {
      throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
    }
    const schema: z.ZodType = METHODS[method].result;
    schema.parse(answer.result);
    return answer.result as Result<Name>;
  }

  /** The error that a call must give. */
  async refused(method: string, params: object): Promise<RpcError> {
    const answer = await this.#send(method, params);
    if (!('error' in answer)) return expect.fail(`${method} was not refused`);
    expect(answer.error.data.details).toMatch(/\w/);
    return answer.error;
  }

  pushed(method: string): Record<string, Json>[] {
    return this.pushes.filter((push) => push.method === method).map(({ params }) => params);
  }

  /** As a client whose socket is full; until what it gives back is called. */
  stopReading(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#room = promise;
    return () => {
      this.#room = undefined;
      resolve();
    };
  }

  #take(push: Push): Promise<void> | void {
    if (this.#room === undefined) return void this.pushes.push(push);
    return this.#room.then(() => void this.pushes.push(push));
  }

  async #send(method: string, params: object) {
    const id = this.#nextId;
    this.#nextId += 1;
    const answer = await this.peer.handle({ jsonrpc: '2.0', id, method, params });
    if (answer === undefined || !('id' in answer)) return expect.fail(`${method} had no answer`);
    expect(answer.id).toBe(id);
    return answer;
  }
}

function toPush(text: string): [method: string, params: Push['params']] {
  const { method, params } = JSON.parse(text) as Push;
  return [method, params];
}
