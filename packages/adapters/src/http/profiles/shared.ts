// What the ready profiles have in common: the capability `ask`, the headers of a call, and errors.

import {
  type AgentDescription,
  type Attachment,
  type CallContext,
  type Capability,
  callHeaders,
  capabilitySchema,
  type Envelope,
  type EventBody,
  exceedsDepth,
  type FabricError,
  type Manifest,
  readTask,
  TASK_SCHEMA,
  toFields,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { failure } from '../../reasons.ts';
import type { HttpClient } from '../http-client.ts';
import type { RequestContext } from '../json-values.ts';
import type { Profile, ProfileCall } from '../profile.ts';

/** What an agent that is talked to offers where its manifest names no capabilities. */
export const ASK: Capability = capabilitySchema.parse({
  name: 'ask',
  streaming: true,
  description: 'Asks the agent, in words',
  input_schema: TASK_SCHEMA,
});

export function headersOf({ envelope, context }: ProfileCall): Record<string, string> {
  return callHeaders(envelope, context);
}

export function requestsOf({ envelope, context, names }: ProfileCall): RequestContext {
  const caller = envelope.auth.principal_id ?? undefined;
  return { signal: context.signal, log: context.log, names, caller };
}

/** `problem` goes on where "The agent does not answer as its profile says" ends. */
export function badAnswer(problem: string): FabricError {
  return failure('bad_result/profile', { problem });
}

/** What an earlier call kept, when it is a text that can be an id. */
export function keptId({ handle }: CallContext, name: string): string | undefined {
  const id = handle?.[name];
  return typeof id === 'string' && id !== '' && id.length <= 512 ? id : undefined;
}

/** Agents that are talked to: without capabilities in their manifest they offer `ask`. */
export abstract class AskProfile<Options> implements Profile {
  abstract readonly healthPath: string;
  protected readonly client: HttpClient;
  protected readonly options: Options;
  readonly #manifest: Manifest;

  constructor(manifest: Manifest, client: HttpClient, options: Options) {
    this.#manifest = manifest;
    this.client = client;
    this.options = options;
  }

  abstract call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined>;

  async describe(): Promise<AgentDescription> {
    const { version, description, capabilities = [ASK] } = this.#manifest;
    return { version, capabilities, ...(description === undefined ? {} : { description }) };
  }

  async find(name: string): Promise<Capability | undefined> {
    return name === ASK.name ? ASK : undefined;
  }
}

interface InputParts {
  /** Task, then what else the caller gave, as JSON. */
  readonly text: string;
  readonly files: readonly Attachment[];
}

/** What the caller gave, for an agent that reads one message; files that are texts join the text. */
export function toInputParts(input: Envelope['input']): InputParts {
  const { text, rest } = readTask(input);
  const more = Object.keys(rest).length === 0 ? [] : [JSON.stringify(rest)];
  const isText = (file: Attachment) => file.text !== undefined;
  const texts = input.attachments.filter(isText).map(({ name, text: content = '' }) => {
    return name === undefined ? content : `${name}:\n${content}`;
  });
  return {
    text: [text, ...more, ...texts].filter((each) => each !== '').join('\n\n'),
    files: input.attachments.filter((file) => !isText(file)),
  };
}

/** Bytes as a `data:` URL, or where the file is. */
export function toFileUrl({ media_type, data, uri }: Attachment): string | undefined {
  return data === undefined ? uri : `data:${media_type};base64,${data}`;
}

export function isImage({ media_type }: Attachment): boolean {
  return media_type.toLowerCase().startsWith('image/');
}

const MAX_SAID = 16_384;

/** What an agent reports in a form of its own; `percent`, or `progress` from 0 to 1, where it has it. */
export function toProgress(value: unknown, name?: unknown): EventBody {
  const { percent, progress, message, text } = toFields(value);
  const said = [value, message, text, name].find((each) => typeof each === 'string');
  const isJson = said === undefined && value !== undefined && !exceedsDepth(value);
  const words = cleanText(isJson ? JSON.stringify(value) : said, MAX_SAID);
  const share = typeof progress === 'number' ? progress * 100 : Number.NaN;
  const exact = typeof percent === 'number' ? percent : share;
  const isPercent = exact >= 0 && exact <= 100;
  return {
    type: 'progress',
    data: { ...(isPercent && { percent: exact }), ...(words && { message: words }) },
  };
}
