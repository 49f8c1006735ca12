// A message to a task that asks, as answers to what was asked.

import type { Message } from '@a2a-js/sdk';
import {
  ANSWER_ACTIONS,
  FabricError,
  type Fields,
  type GivenInput,
  givenInputSchema,
  type InputRequest,
  isObject,
  toFields,
} from '@starloom/core';
import { z } from 'zod';
import { META_ACTION, META_INPUTS } from './names.ts';
import { dataOf, textOf } from './read-message.ts';

type Question = Pick<InputRequest, 'id' | 'kind' | 'schema' | 'options'>;

const inputsSchema = z.array(givenInputSchema).min(1).max(32);
const actionSchema = z.enum(ANSWER_ACTIONS).default('accept');

/**
 * The answers that a message brings: those it names in its metadata, else one for the only question,
 * from its text or data; for several questions a data part with one entry for each. BAD_INPUT otherwise.
 */
export function toAnswers(message: Message, questions: readonly Question[]): GivenInput[] {
  const { metadata = {} } = message;
  if (metadata[META_INPUTS] !== undefined) return parsed(inputsSchema, metadata[META_INPUTS]);
  const action = parsed(actionSchema, metadata[META_ACTION]);
  if (action !== 'accept') return questions.map(({ id }) => ({ id, response: { action } }));
  const [only] = questions;
  const data = dataOf(message);
  if (only && questions.length === 1) return [accept(only, data, textOf(message))];
  return questions.map((question) => {
    const content = data && Object.hasOwn(data, question.id) ? data[question.id] : undefined;
    if (content === undefined && !isPlain(question)) throw unanswered(questions);
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
  const json = parseJson(text);
  if (isObject(json)) return json;
  const names = Object.keys(toFields(properties));
  const [only] = names;
  return names.length === 1 && only !== undefined ? { [only]: text } : { text };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { data, error } = schema.safeParse(value);
  if (error) throw badAnswers('The answers in the metadata are not [{id, response}]', []);
  return data as z.output<Schema>;
}

function unanswered(questions: readonly Question[]): FabricError {
  return badAnswers('The task asks several questions, and not all are answered', questions);
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
