import { type AgentDescription, type EventBody, FabricError, type Manifest } from '@starloom/core';
import { describeManifest } from '../../upstream/describe-manifest.ts';
import type { HttpClient } from '../http-client.ts';
import type { Profile, ProfileCall } from '../profile.ts';
import type { CallTemplate } from './options.ts';
import { isPlace } from './placeholders.ts';
import { TemplateCall } from './template-call.ts';

export type TemplateOptions = CallTemplate & {
  readonly calls: Readonly<Record<string, CallTemplate>>;
  readonly health?: string | undefined;
};

/** An agent whose requests and answers its manifest describes. */
export class TemplateProfile implements Profile {
  readonly healthPath: string;
  readonly #manifest: Manifest;
  readonly #client: HttpClient;
  readonly #options: TemplateOptions;

  constructor(manifest: Manifest, client: HttpClient, options: TemplateOptions) {
    const { target } = client;
    this.healthPath = options.health === undefined ? target.path : target.pathOf(options.health);
    this.#manifest = manifest;
    this.#client = client;
    this.#options = options;
  }

  async *call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    const { name } = call.capability;
    const { calls, ...rest } = this.#options;
    const template = { ...rest, ...(Object.hasOwn(calls, name) && calls[name]) };
    const { request } = template;
    if (!request) throw noRequest(name);
    if (call.envelope.input.attachments.length > 0 && !takesAttachments(request.body)) {
      throw noAttachments();
    }
    yield* new TemplateCall(this.#client, template, call).events(request);
  }

  async describe(): Promise<AgentDescription> {
    return describeManifest(this.#manifest);
  }
}

/** Whether a place of the body is for them. */
function takesAttachments(body: unknown): boolean {
  if (isPlace(body)) return body.$from.startsWith('/attachments');
  return typeof body === 'object' && body !== null && Object.values(body).some(takesAttachments);
}

function noRequest(capability: string): FabricError {
  return new FabricError('BAD_INPUT', `The manifest has no request for "${capability}"`, {
    details: { reason: 'no_request', sent: false, fix: 'add options.request to the manifest' },
  });
}

/** For agents that have no way to take files. */
export function noAttachments(mediaType?: string): FabricError {
  return new FabricError('BAD_INPUT', 'The agent does not take these attachments', {
    details: {
      reason: 'attachments',
      ...(mediaType !== undefined && { media_type: mediaType.slice(0, 128) }),
      sent: false,
      fix: 'call without attachments, or put their text into the task',
    },
  });
}
