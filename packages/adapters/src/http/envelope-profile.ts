import { type AgentDescription, type EventBody, type Manifest, toHeaders } from '@starloom/core';
import { describeManifest } from '../upstream/describe-manifest.ts';
import { createReader } from './create-reader.ts';
import type { HttpClient } from './http-client.ts';
import type { Profile, ProfileCall } from './profile.ts';

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

  async *call({
    envelope,
    context,
    names,
  }: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    const { path } = this.#client.target;
    const headers = toHeaders(envelope.trace, envelope.hop);
    const request = { method: 'POST', path, headers, body: envelope } as const;
    const { signal, log } = context;
    yield* this.#client.exchange(request, { names, signal, log, readerFor: createReader });
  }

  async describe(): Promise<AgentDescription> {
    return describeManifest(this.#manifest);
  }
}
