import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  type CallContext,
  type Capability,
  type Envelope,
  type EventBody,
  FabricError,
  findCapability,
  type Health,
  type Manifest,
} from '@starloom/core';
import { assertWanted, capabilityNotFound } from '../upstream/assert-callable.ts';
import { parseOptions } from '../upstream/options.ts';
import { HttpClient } from './http-client.ts';
import { openProfile } from './open-profile.ts';
import type { Profile } from './profile.ts';
import { httpAdapterOptionsSchema } from './profile-options.ts';
import { parseTarget } from './target.ts';

/** For agents over HTTP; how they are spoken to is their profile. */
export function createHttpAdapter(options: AdapterOptions): Adapter {
  return new HttpAdapter(options);
}

class HttpAdapter implements Adapter {
  readonly #manifest: Manifest;
  readonly #client: HttpClient;
  readonly #profile: Profile;

  constructor(adapter: AdapterOptions) {
    const { manifest } = adapter;
    const options = parseOptions(httpAdapterOptionsSchema, manifest);
    this.#manifest = manifest;
    this.#client = new HttpClient(manifest, parseTarget(manifest, options));
    this.#profile = openProfile(adapter, this.#client, options);
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    assertWanted(context.signal);
    const { target } = envelope;
    const capability =
      findCapability(this.#manifest, target.capability) ??
      (await this.#discover(target.capability, context));
    const names = { agent_id: this.#manifest.agent_id, capability: target.capability };
    try {
      yield* this.#profile.call({ envelope, context, capability, names });
    } catch (error) {
      if (error === context.signal.reason) throw error;
      throw FabricError.from(error).with(names);
    }
  }

  async health({ signal }: CallContext): Promise<Health> {
    return this.#client.health(this.#profile.healthPath, signal);
  }

  async describe(context: CallContext): Promise<AgentDescription> {
    return this.#profile.describe(context);
  }

  async close(): Promise<void> {
    await this.#profile.close?.();
    await this.#client.close();
  }

  async #discover(name: string, context: CallContext): Promise<Capability> {
    const isDeclared = this.#manifest.capabilities !== undefined;
    const found = isDeclared ? undefined : await this.#profile.find?.(name, context);
    if (found) return found;
    throw capabilityNotFound(this.#manifest, name);
  }
}
