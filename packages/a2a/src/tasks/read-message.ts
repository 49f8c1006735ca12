// What a message says, whichever parts it says it in.

import type { Message, Part } from '@a2a-js/sdk';
import {
  ANSWER_ACTIONS,
  type Attachment,
  type Capability,
  FabricError,
  type Fields,
  type GivenInput,
  givenInputSchema,
  type InputRequest,
  isObject,
  toFields,
  tryParseJson,
} from '@starloom/core';
import { z } from 'zod';
import { takes } from '../modes.ts';
import { META_ACTION, META_INPUTS } from '../names.ts';
import { failure } from '../reasons.ts';
import { a2aError } from './respond.ts';

export function textOf({ parts }: Message): string {
  return parts
    .flatMap(({ content }) => (content?.$case === 'text' ? content.value : []))
    .join('\n');
}

/** The data parts as one object; `undefined` when there are none. */
export function dataOf({ parts }: Message): Fields | undefined {
  const found: Fields[] = [];
  for (const { content } of parts) {
    if (content?.$case !== 'data') continue;
    const { value } = content;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw failure('data_part');
    }
    found.push(value);
  }
  return found.length === 0 ? undefined : Object.assign({}, ...found);
}

export function attachmentsOf({ parts }: Message): Attachment[] {
  return parts.flatMap((part) => {
    const { content, filename, mediaType } = part;
    if (content?.$case !== 'raw' && content?.$case !== 'url') return [];
    return {
      ...(filename !== '' && { name: filename }),
      media_type: mediaType || OCTETS,
      ...(content.$case === 'raw'
        ? { data: Buffer.from(content.value).toString('base64') }
        : { uri: checkedUrl(content.value) }),
    };
  });
}

/** CONTENT_TYPE_NOT_SUPPORTED for a part of a media type that none of the modes takes. */
export function assertModes({ parts }: Message, modes: readonly string[]): void {
  for (const part of parts) {
    const mediaType = part.mediaType || defaultType(part);
    if (takes(modes, mediaType)) continue;
    throw a2aError('CONTENT_TYPE_NOT_SUPPORTED', `The agent does not take ${mediaType}`, { modes });
  }
}

const OCTETS = 'application/octet-stream';

function defaultType({ content }: Part): string {
  if (content?.$case === 'raw' || content?.$case === 'url') return OCTETS;
  return content?.$case === 'data' ? 'application/json' : 'text/plain';
}

function checkedUrl(url: string): string {
  if (URL.canParse(url)) return url;
  throw failure('bad_url');
}

const TEXT_MODES = ['text/plain', 'application/json'];

/** Media types that a capability takes and gives, from its modalities. */
export function modesOf({ modalities }: Pick<Capability, 'modalities'>): string[] {
  const modes = modalities.flatMap((modality) => {
    if (modality === 'text') return TEXT_MODES;
    if (modality.includes('/')) return modality;
    return modality === 'file' ? '*/*' : `${modality}/*`;
  });
  return [...new Set([...TEXT_MODES, ...modes])];
}

// A message to a task that asks, as answers to what was asked.

type Question = Pick<InputRequest, 'id' | 'kind' | 'schema' | 'options'>;

const inputsSchema = z.array(givenInputSchema).min(1).max(32);
const actionSchema = z.enum(ANSWER_ACTIONS).default('accept');

/**
 * The answers that a message brings: those it names in its metadata, else one for the only question,
 * from its text or data; for several questions a data part with one entry for each. BAD_INPUT otherwise.
 */
export function toAnswers(message: Message, questions: readonly Question[]): GivenInput[] {
  const { metadata = {} } = message;
  if (metadata[META_INPUTS] !== undefined)
    return parseMetadata(inputsSchema, metadata[META_INPUTS]);
  const action = parseMetadata(actionSchema, metadata[META_ACTION]);
  if (action !== 'accept') return questions.map(({ id }) => ({ id, response: { action } }));
  const [only] = questions;
  const data = dataOf(message);
  if (only && questions.length === 1) return [accept(only, data, textOf(message))];
  return questions.map((question) => {
    const content = data && Object.hasOwn(data, question.id) ? data[question.id] : undefined;
    if (content === undefined && !isPlain(question)) {
      throw badAnswers('The task asks several questions, and not all are answered', questions);
    }
    const isText = typeof content === 'string';
    return accept(question, isObject(content) ? content : undefined, isText ? content : '');
  });
}

/** Nothing is to be said to it but yes. */
function isPlain({ kind }: Question): boolean {
  return kind === 'url' || kind === 'auth';
}

function accept(question: Question, data: Fields | undefined, text: string): GivenInput {
  const { id, kind, options = [], schema = {} } = question;
  const give = (content?: unknown): GivenInput => ({
    id,
    response: { action: 'accept', ...(content !== undefined && { content }) },
  });
  if (isPlain(question)) return give(data);
  if (data !== undefined) return give(data);
  if (kind === 'text') return give({ text });
  if (kind === 'choice') {
    const said = text.trim().toLowerCase();
    const chosen = options.find(
      (option) => option.id.toLowerCase() === said || option.label.toLowerCase() === said,
    );
    return give({ choice: chosen?.id ?? text });
  }
  return give(fromText(text, schema));
}

/** JSON, or the value of the only text that the form has. */
function fromText(text: string, { properties }: Fields): unknown {
  const json = tryParseJson(text);
  if (isObject(json)) return json;
  const names = Object.keys(toFields(properties));
  const [only] = names;
  return names.length === 1 && only !== undefined ? { [only]: text } : { text };
}

function parseMetadata<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { data, error } = schema.safeParse(value);
  if (error) throw badAnswers('The answers in the metadata are not [{id, response}]', []);
  return data as z.output<Schema>;
}

function badAnswers(message: string, questions: readonly Question[]): FabricError {
  return new FabricError('BAD_INPUT', message, {
    details: {
      reason: 'answer_missing',
      questions: questions.map(({ id }) => id),
      fix: `send a data part {<question>: <answer>}, or metadata["${META_INPUTS}"]`,
    },
  });
}
