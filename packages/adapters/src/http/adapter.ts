import {
  type Adapter,
  type AdapterOptions,
  type AgentDescription,
  assertWanted,
  type CallContext,
  type Capability,
  type Envelope,
  type EventBody,
  FabricError,
  findCapability,
  type Health,
  type Manifest,
} from '@starloom/core';
import { OpenApiProfile } from '../openapi/profile.ts';
import { capabilityNotFound } from '../upstream/call.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { HttpClient } from './http-client.ts';
import { JsonRequests } from './json-requests.ts';
import { type HttpAdapterOptions, httpAdapterOptionsSchema } from './options.ts';
import { HttpProfile, type ProfileCall } from './profile.ts';
import { AgUiProfile } from './profiles/ag-ui.ts';
import { LangGraphProfile } from './profiles/langgraph.ts';
import { OpenAiChatProfile } from './profiles/openai-chat.ts';
import { OpenAiResponsesProfile } from './profiles/openai-responses.ts';
import { readEvents } from './readers.ts';
import { TemplateProfile } from './template/profile.ts';

/** For agents over HTTP; how they are spoken to is their profile. */
export function createHttpAdapter(options: AdapterOptions): Adapter {
  return new HttpAdapter(options);
}

class HttpAdapter implements Adapter {
  readonly #manifest: Manifest;
  readonly #client: HttpClient;
  readonly #profile: HttpProfile;

  constructor(adapter: AdapterOptions) {
    const { manifest } = adapter;
    const options = parseOptions(httpAdapterOptionsSchema, manifest);
    this.#manifest = manifest;
    this.#client = new HttpClient(manifest, options);
    this.#profile = openProfile(adapter, this.#client, options);
  }

  async *call(envelope: Envelope, context: CallContext): AsyncIterable<EventBody> {
    assertWanted(context.signal);
    const { target } = envelope;
    const capability =
      findCapability(this.#manifest, target.capability) ??
      (await this.#discover(target.capability, context));
    const names = { agent_id: this.#manifest.agent_id, capability: target.capability };
    const requests = JsonRequests.of(this.#client, envelope, context, names);
    try {
      yield* this.#profile.call({ envelope, context, capability, requests });
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
    await this.#client.close();
  }

  async #discover(name: string, context: CallContext): Promise<Capability> {
    const isDeclared = this.#manifest.capabilities !== undefined;
    const found = isDeclared ? undefined : await this.#profile.find(name, context);
    if (found) return found;
    throw capabilityNotFound(this.#manifest, name);
  }
}

function openProfile(
  { manifest, baseFolder = '.' }: AdapterOptions,
  client: HttpClient,
  options: HttpAdapterOptions,
): HttpProfile {
  switch (options.profile) {
    case 'envelope':
      return new EnvelopeProfile(manifest, client, options);
    case 'template':
      return new TemplateProfile(manifest, client, options);
    case 'openai-chat':
      return new OpenAiChatProfile(manifest, client, options);
    case 'openai-responses':
      return new OpenAiResponsesProfile(manifest, client, options);
    case 'ag-ui':
      return new AgUiProfile(manifest, client, options);
    case 'langgraph':
      return new LangGraphProfile(manifest, client, options);
    case 'openapi':
      return new OpenApiProfile(manifest, client, options, baseFolder);
  }
}

/** Agents that take the envelope by POST: the `http` contract of our own. */
class EnvelopeProfile extends HttpProfile {
  override get healthPath(): string {
    return this.client.target.pathOf('/health');
  }

  call({ envelope: body, requests }: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    const { path } = this.client.target;
    return requests.exchange<EventBody>({ method: 'POST', path, body }, readEvents);
  }
}
