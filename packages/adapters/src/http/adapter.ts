import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  type CallContext,
  type Envelope,
  type EventBody,
  type Health,
  type Manifest,
  toHeaders,
  toMandateHeaders,
} from '@starloom/core';
import { assertCallable, assertWanted } from '../upstream/assert-callable.ts';
import { describeManifest } from '../upstream/describe-manifest.ts';
import { parseOptions } from '../upstream/options.ts';
import { createReader } from './create-reader.ts';
import { HttpClient } from './http-client.ts';
import { httpOptionsSchema } from './options.ts';
import { parseTarget } from './target.ts';

/** For agents that take the envelope by POST: the default profile of the `http` contract. */
export function createHttpAdapter(options: AdapterOptions): Adapter {
  return new HttpAdapter(options);
}

class HttpAdapter implements Adapter {
  readonly #manifest: Manifest;
  readonly #client: HttpClient;

  constructor({ manifest }: AdapterOptions) {
    this.#manifest = manifest;
    const target = parseTarget(manifest, parseOptions(httpOptionsSchema, manifest));
    this.#client = new HttpClient(manifest, target);
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    const { signal, log } = context;
    assertWanted(signal);
    const names = assertCallable(this.#manifest, envelope);
    const { path } = this.#client.target;
    const headers = { ...toHeaders(envelope.trace, envelope.hop), ...toMandateHeaders(context) };
    const request = { method: 'POST', path, headers, body: envelope } as const;
    yield* this.#client.exchange(request, { names, signal, log, readerFor: createReader });
  }

  async health({ signal }: CallContext): Promise<Health> {
    return this.#client.health(this.#client.target.pathOf('/health'), signal);
  }

  async describe(): Promise<AgentDescription> {
    return describeManifest(this.#manifest);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}
