import type { AgentDescription, EventBody, Manifest } from '@starloom/core';
import { describeManifest } from '../upstream/describe-manifest.ts';
import { createReader } from './create-reader.ts';
import type { HttpClient } from './http-client.ts';
import type { Profile, ProfileCall } from './profile.ts';
import { headersOf, requestsOf } from './profiles/shared.ts';

/** Agents that take the envelope by POST: the `http` contract of our own. */
export class EnvelopeProfile implements Profile {
  readonly healthPath: string;
  readonly #manifest: Manifest;
  readonly #client: HttpClient;

  constructor(manifest: Manifest, client: HttpClient) {
    this.healthPath = client.target.pathOf('/health');
    this.#manifest = manifest;
    this.#client = client;
  }

  async *call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    const { path } = this.#client.target;
    const request = {
      method: 'POST',
      path,
      headers: headersOf(call),
      body: call.envelope,
    } as const;
    yield* this.#client.exchange(request, { ...requestsOf(call), readerFor: createReader });
  }

  async describe(): Promise<AgentDescription> {
    return describeManifest(this.#manifest);
  }
}
