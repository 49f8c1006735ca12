import {
  type Adapter,
  type AgentDescription,
  assertWanted,
  type CallContext,
  type Capability,
  type Envelope,
  type EventBody,
  findCapability,
  type Health,
  type Manifest,
} from '@starloom/core';
import { capabilityNotFound, failureOf } from '../upstream/call.ts';
import { describeManifest } from '../upstream/endpoint.ts';
import type { HttpClient } from './http-client.ts';
import { JsonRequests } from './json-requests.ts';

/** What a profile needs to know of a capability. */
type Served = Pick<Capability, 'name' | 'tool'>;

/** One call, as a profile gets it. */
export interface ProfileCall {
  readonly envelope: Envelope;
  readonly context: CallContext;
  /** As the manifest or the agent describes it. */
  readonly capability: Served;
  readonly requests: JsonRequests;
}

/** How agents of one kind are spoken to over HTTP. */
export abstract class HttpProfile<Options = unknown> {
  protected readonly manifest: Manifest;
  protected readonly client: HttpClient;
  protected readonly options: Options;

  constructor(manifest: Manifest, client: HttpClient, options: Options) {
    this.manifest = manifest;
    this.client = client;
    this.options = options;
  }

  abstract call(call: ProfileCall): AsyncIterable<EventBody>;

  /** Where a health check asks. */
  get healthPath(): string {
    return this.client.target.path;
  }

  /** What the agent offers where its manifest names no capabilities. */
  async describe(_context: CallContext): Promise<AgentDescription> {
    return describeManifest(this.manifest);
  }

  /** The capability of that name where the manifest names none. */
  async find(_name: string, _context: CallContext): Promise<Served | undefined> {
    return undefined;
  }

  async close(): Promise<void> {}
}

/** An agent over HTTP; how it is spoken to is its profile. */
export class HttpAdapter implements Adapter {
  readonly #manifest: Manifest;
  readonly #client: HttpClient;
  readonly #profile: HttpProfile;

  constructor(manifest: Manifest, client: HttpClient, profile: HttpProfile) {
    this.#manifest = manifest;
    this.#client = client;
    this.#profile = profile;
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    assertWanted(context.signal);
    const { capability: name } = envelope.target;
    try {
      const capability =
        findCapability(this.#manifest, name) ?? (await this.#discover(name, context));
      const requests = JsonRequests.of(this.#client, envelope, context);
      yield* this.#profile.call({ envelope, context, capability, requests });
    } catch (error) {
      throw failureOf(error, this.#manifest, context, envelope);
    }
  }

  health({ signal }: CallContext): Promise<Health> {
    return this.#client.health(this.#profile.healthPath, signal);
  }

  async describe(context: CallContext): Promise<AgentDescription> {
    try {
      return await this.#profile.describe(context);
    } catch (error) {
      throw failureOf(error, this.#manifest, context);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#profile.close(), this.#client.close()]);
  }

  async #discover(name: string, context: CallContext): Promise<Served> {
    const isDeclared = this.#manifest.capabilities !== undefined;
    const found = isDeclared ? undefined : await this.#profile.find(name, context);
    if (found) return found;
    throw capabilityNotFound(this.#manifest, name);
  }
}
