// What the ready profiles have in common: the capability `ask`, texts and files of a call, and errors.

import {
  type AgentDescription,
  type Attachment,
  type CallContext,
  type Capability,
  capabilitySchema,
  type Envelope,
  type EventBody,
  exceedsDepth,
  type FabricError,
  TASK_SCHEMA,
  toFields,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { failure } from '../../reasons.ts';
import { describeManifest } from '../../upstream/endpoint.ts';
import { toPrompt } from '../../upstream/prompt-text.ts';
import { HttpProfile } from '../profile.ts';

/** What an agent that is talked to offers where its manifest names no capabilities. */
export const ASK: Capability = capabilitySchema.parse({
  name: 'ask',
  streaming: true,
  description: 'Asks the agent, in words',
  input_schema: TASK_SCHEMA,
});

/** `problem` goes on where "The agent does not answer as its profile says" ends. */
export function badAnswer(problem: string): FabricError {
  return failure('bad_result/profile', { problem });
}

/** What an earlier call kept, when it is a text that can be an id. */
export function keptId({ handle }: CallContext, name: string): string | undefined {
  const id = handle?.[name];
  return typeof id === 'string' && id !== '' && id.length <= 512 ? id : undefined;
}

/** Agents that are asked in words: without capabilities in their manifest they offer `ask`. */
export abstract class AskProfile<Options> extends HttpProfile<Options> {
  override async describe(): Promise<AgentDescription> {
    const { capabilities = [ASK] } = this.manifest;
    return describeManifest({ ...this.manifest, capabilities });
  }

  override async find(name: string): Promise<Capability | undefined> {
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
  const isText = (file: Attachment) => file.text !== undefined;
  const texts = input.attachments.filter(isText).map(({ name, text: content = '' }) => {
    return name === undefined ? content : `${name}:\n${content}`;
  });
  return {
    text: [toPrompt(input), ...texts].filter((each) => each !== '').join('\n\n'),
    files: input.attachments.filter((file) => !isText(file)),
  };
}

/** Bytes as a `data:` URL, or where the file is. */
export function toFileUrl({ media_type, data, uri }: Attachment): string | undefined {
  return data === undefined ? uri : `data:${media_type};base64,${data}`;
}

/** An image as the interfaces of models take it. */
export function toImagePart(file: Attachment): object {
  const url = toFileUrl(file);
  if (url !== undefined) return { type: 'image_url', image_url: { url } };
  throw refusedFile(file);
}

export function refusedFile({ media_type }: Attachment): FabricError {
  return failure('attachments', { media_type: media_type.slice(0, 128) });
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
