// A REST interface with an OpenAPI document: each operation is a capability. Calls go to the address of
// the manifest, whatever servers the document names.

import {
  type AgentDescription,
  argumentsFromTask,
  type CallContext,
  type Capability,
  type EventBody,
  FabricError,
  type Manifest,
  TOOL_ERROR,
  toFields,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import type { HttpClient } from '../http/http-client.ts';
import type { OptionsOf } from '../http/options.ts';
import { HttpProfile, type ProfileCall } from '../http/profile.ts';
import { toFinal } from '../http/template/read-answer.ts';
import { failure } from '../reasons.ts';
import { capabilityNotFound } from '../upstream/call.ts';
import { loadDocument, toUnsent } from './load-document.ts';
import { type Operation, operationsOf } from './operations.ts';
import { toRequest } from './to-request.ts';

interface Loaded {
  readonly description: AgentDescription;
  readonly operations: readonly Operation[];
}

export class OpenApiProfile extends HttpProfile<OptionsOf<'openapi'>> {
  readonly #baseFolder: string;
  #loaded: Loaded | undefined;

  constructor(
    manifest: Manifest,
    client: HttpClient,
    options: OptionsOf<'openapi'>,
    baseFolder: string,
  ) {
    super(manifest, client, options);
    this.#baseFolder = baseFolder;
  }

  async *call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    const { envelope, context, capability, requests } = call;
    const { input } = envelope;
    const operation = await this.#operation(capability, context);
    if (input.attachments.length > 0) throw failure('attachments');
    const given =
      input.arguments ?? argumentsFromTask(input, operation.capability.input_schema ?? {});
    const request = toRequest(operation, given, this.client.target);
    const values: unknown[] = [];
    const items = requests.stream(request, { lines: true, texts: true });
    try {
      for await (const item of items) {
        if (item.type === 'value') values.push(item.value);
        if (item.type !== 'final') continue;
        const document = values.length > 0 ? values : item.value;
        return yield toFinal(document, {}, this.client.excerpt);
      }
    } catch (error) {
      throw aboutArguments(error, operation);
    }
    throw failure('no_final');
  }

  /** Reads the document again. */
  override async describe({ signal, log }: CallContext): Promise<AgentDescription> {
    const { agent_id, endpoint } = this.manifest;
    const { origin } = this.client.target;
    const { document: source } = this.options;
    const isOwn = URL.parse(source)?.origin === origin;
    const place = {
      document: source,
      baseFolder: this.#baseFolder,
      headers: isOwn ? endpoint.headers : undefined,
    };
    const document = await loadDocument(place, { signal, log, names: { agent_id } });
    const address = new URL(endpoint.uri ?? '');
    const own = {
      headers: new Set(Object.keys(this.client.target.headers)),
      query: new Set(address.searchParams.keys()),
    };
    const base = address.origin + address.pathname;
    const { operations, leftOut } = operationsOf(document, { base, own });
    for (const each of leftOut) log.debug({ agent_id, ...each }, 'an operation is left out');
    const info = toFields(document.root.info);
    const about = cleanText(info.title, 256);
    const version = cleanText(info.version, 64);
    const capabilities = operations.map(({ capability }) => capability);
    const description = {
      capabilities,
      ...(version && { version }),
      ...(about && { description: about }),
    };
    this.#loaded = { operations, description };
    return description;
  }

  override async find(name: string, context: CallContext): Promise<Capability | undefined> {
    const { operations } = await this.#load(context);
    return operations.find(({ capability }) => capability.name === name)?.capability;
  }

  /** A capability of the manifest may name its operation, or method and path, in `tool`. */
  async #operation(
    { name, tool = name }: ProfileCall['capability'],
    context: CallContext,
  ): Promise<Operation> {
    const { operations } = this.#loaded ?? (await this.#load(context));
    const found = operations.find(({ capability }) => {
      return capability.name === tool || capability.tool === tool;
    });
    if (found) return found;
    throw capabilityNotFound(this.manifest, name);
  }

  async #load(context: CallContext): Promise<Loaded> {
    if (!this.#loaded) {
      await this.describe(context).catch((error: unknown) => {
        throw toUnsent(error, context.signal);
      });
    }
    return this.#loaded ?? { operations: [], description: { capabilities: [] } };
  }
}

/** 404 at a path that holds arguments speaks of them, and not of the operation. */
function aboutArguments(error: unknown, { path }: Operation): unknown {
  if (!FabricError.is(error) || error.details.status !== 404) return error;
  if (path.every((piece) => typeof piece === 'string')) return error;
  return new FabricError('UPSTREAM_ERROR', 'The agent does not have what was asked for', {
    details: { ...error.details, reason: TOOL_ERROR, fix: 'see details.upstream' },
    cause: error,
  });
}
