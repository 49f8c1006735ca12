import type { Adapter, AdapterOptions, EventBody } from '@starloom/core';
import { OpenApiProfile } from '../openapi/profile.ts';
import { parseOptions } from '../upstream/endpoint.ts';
import { HttpClient } from './http-client.ts';
import { type HttpAdapterOptions, httpAdapterOptionsSchema } from './options.ts';
import { HttpAdapter, HttpProfile, type ProfileCall } from './profile.ts';
import { AgUiProfile } from './profiles/ag-ui.ts';
import { LangGraphProfile } from './profiles/langgraph.ts';
import { OpenAiChatProfile } from './profiles/openai-chat.ts';
import { OpenAiResponsesProfile } from './profiles/openai-responses.ts';
import { readEvents } from './readers.ts';
import { TemplateProfile } from './template/profile.ts';

/** For agents over HTTP; how they are spoken to is their profile. */
export function createHttpAdapter(adapter: AdapterOptions): Adapter {
  const { manifest } = adapter;
  const options = parseOptions(httpAdapterOptionsSchema, manifest);
  const client = new HttpClient(manifest, options);
  return new HttpAdapter(manifest, client, openProfile(adapter, client, options));
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
