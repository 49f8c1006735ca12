import type { AgentDescription, EventBody, Manifest } from '@starloom/core';
import { failure } from '../../reasons.ts';
import { describeManifest } from '../../upstream/endpoint.ts';
import type { HttpClient } from '../http-client.ts';
import type { OptionsOf } from '../options.ts';
import type { Profile, ProfileCall } from '../profile.ts';
import { isPlace } from './placeholders.ts';
import { TemplateCall } from './template-call.ts';

/** An agent whose requests and answers its manifest describes. */
export class TemplateProfile implements Profile {
  readonly healthPath: string;
  readonly #manifest: Manifest;
  readonly #client: HttpClient;
  readonly #options: OptionsOf<'template'>;

  constructor(manifest: Manifest, client: HttpClient, options: OptionsOf<'template'>) {
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
    if (!request) throw failure('no_request', { capability: name });
    if (call.envelope.input.attachments.length > 0 && !takesAttachments(request.body)) {
      throw failure('attachments');
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
