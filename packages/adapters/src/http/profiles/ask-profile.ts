import type { AgentDescription, Capability, EventBody, Manifest } from '@starloom/core';
import type { HttpClient } from '../http-client.ts';
import type { Profile, ProfileCall } from '../profile.ts';
import { ASK } from './shared.ts';

/** Agents that are talked to: without capabilities in their manifest they offer `ask`. */
export abstract class AskProfile<Options> implements Profile {
  abstract readonly healthPath: string;
  protected readonly client: HttpClient;
  protected readonly options: Options;
  readonly #manifest: Manifest;

  constructor(manifest: Manifest, client: HttpClient, options: Options) {
    this.#manifest = manifest;
    this.client = client;
    this.options = options;
  }

  abstract call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined>;

  async describe(): Promise<AgentDescription> {
    const { version, description, capabilities = [ASK] } = this.#manifest;
    return { version, capabilities, ...(description === undefined ? {} : { description }) };
  }

  async find(name: string): Promise<Capability | undefined> {
    return name === ASK.name ? ASK : undefined;
  }
}
