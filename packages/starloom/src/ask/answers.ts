// Answers that were given on the command line, by `--input <id>=<value>`.

import { FabricError, type GivenInput, type InputRequest } from '@starloom/core';
import { formFields } from './form-field.ts';

export type OpenQuestion = Pick<InputRequest, 'id' | 'kind' | 'schema' | 'options'>;

/** By the id of the question. */
export type TypedInputs = Readonly<Record<string, string>>;

/** The answers as the gateway takes them; BAD_INPUT for one that cannot be read. */
export function toAnswers(inputs: TypedInputs, questions: readonly OpenQuestion[]): GivenInput[] {
  return Object.entries(inputs).map(([id, typed]) => {
    const question = questions.find((each) => each.id === id);
    return { id, response: toResponse(typed, question) };
  });
}

function toResponse(typed: string, question: OpenQuestion | undefined): GivenInput['response'] {
  if (typed === '/decline') return { action: 'decline' };
  if (typed === '/cancel') return { action: 'cancel' };
  switch (question?.kind) {
    case 'url':
    case 'auth':
      return { action: 'accept' };
    case 'text':
      return { action: 'accept', content: objectIn(typed) ?? { text: typed } };
    case 'choice':
      return { action: 'accept', content: objectIn(typed) ?? { choice: typed } };
    case 'form':
      return { action: 'accept', content: objectIn(typed) ?? toOneField(typed, question) };
    case 'model':
    case 'roots':
      throw unanswerable(question);
    case undefined:
      return { action: 'accept', content: objectIn(typed) ?? { text: typed } };
  }
}

/** A form of one field may be answered by its value alone. */
function toOneField(typed: string, { id, schema }: OpenQuestion): Record<string, unknown> {
  const [field, ...more] = formFields(schema);
  if (field === undefined || more.length > 0) {
    throw bad(id, 'it asks for several fields', `write --input '${id}={"field": "value"}'`);
  }
  const parsed = field.parse(typed);
  if ('value' in parsed) return { [field.name]: parsed.value };
  throw bad(id, parsed.problem, 'correct the answer');
}

function unanswerable({ id, kind }: OpenQuestion): FabricError {
  const what = kind === 'model' ? 'it asks for a model' : 'it asks for folders';
  return bad(id, `${what}, which the command line does not have`, `write --input ${id}=/decline`);
}

function bad(id: string, why: string, fix: string): FabricError {
  return new FabricError('BAD_INPUT', `The answer to "${id}" cannot be used: ${why}`, {
    details: { reason: 'answer_does_not_fit', fix },
  });
}

function objectIn(text: string): object | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface GoOn {
  readonly agentId: string;
  readonly capability: string;
  readonly conversationId: string;
}

/** What a person types to answer these questions; the values are examples. */
export function answerCommand(goOn: GoOn, questions: readonly InputRequest[]): string {
  const inputs = questions.map((question) => {
    return `--input ${quote(`${question.id}=${exampleFor(question)}`)}`;
  });
  return [goOnCommand(goOn), ...inputs].join(' ');
}

/** What a person types to say something more in a conversation. */
export function goOnCommand({ agentId, capability, conversationId }: GoOn, task?: string): string {
  const words = ['starloom', 'call', agentId, capability, ...(task ? [task] : [])];
  return [...words, '--conversation', conversationId].map(quote).join(' ');
}

function exampleFor({ kind, schema, options = [] }: InputRequest): string {
  switch (kind) {
    case 'text':
      return '…';
    case 'choice':
      return options[0]?.id ?? '…';
    case 'form': {
      const fields = formFields(schema).filter(({ isRequired }) => isRequired);
      const wanted = fields.length > 0 ? fields : formFields(schema).slice(0, 1);
      return JSON.stringify(Object.fromEntries(wanted.map(({ name }) => [name, '…'])));
    }
    case 'url':
    case 'auth':
      return 'done';
    case 'model':
    case 'roots':
      return '/decline';
  }
}

function quote(word: string): string {
  return /^[\w./:=@…-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
