import type {
  AgentDescription,
  CallContext,
  Capability,
  Envelope,
  EventBody,
  Manifest,
} from '@starloom/core';
import { describeManifest } from '../upstream/endpoint.ts';
import type { HttpClient } from './http-client.ts';
import type { JsonRequests } from './json-requests.ts';

/** One call, as a profile gets it. */
export interface ProfileCall {
  readonly envelope: Envelope;
  readonly context: CallContext;
  /** As the manifest or the agent describes it. */
  readonly capability: Capability;
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

  abstract call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined>;

  /** Where a health check asks. */
  get healthPath(): string {
    return this.client.target.path;
  }

  /** What the agent offers where its manifest names no capabilities. */
  async describe(_context: CallContext): Promise<AgentDescription> {
    return describeManifest(this.manifest);
  }

  /** The capability of that name where the manifest names none. */
  async find(_name: string, _context: CallContext): Promise<Capability | undefined> {
    return undefined;
  }
}
