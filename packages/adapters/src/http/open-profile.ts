import type { AdapterOptions } from '@starloom/core';
import { OpenApiProfile } from '../openapi/profile.ts';
import { EnvelopeProfile } from './envelope-profile.ts';
import type { HttpClient } from './http-client.ts';
import type { Profile } from './profile.ts';
import type { HttpAdapterOptions } from './profile-options.ts';
import { AgUiProfile } from './profiles/ag-ui.ts';
import { LangGraphProfile } from './profiles/langgraph.ts';
import { OpenAiChatProfile } from './profiles/openai-chat.ts';
import { OpenAiResponsesProfile } from './profiles/openai-responses.ts';
import { TemplateProfile } from './template/profile.ts';

export function openProfile(
  { manifest, baseFolder = '.' }: AdapterOptions,
  client: HttpClient,
  options: HttpAdapterOptions,
): Profile {
  switch (options.profile) {
    case 'envelope':
      return new EnvelopeProfile(manifest, client);
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
