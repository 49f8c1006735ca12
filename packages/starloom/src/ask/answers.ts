// Answers that were given on the command line, by `--input <id>=<value>`.

import type { FabricError, GivenInput, InputRequest } from '@starloom/core';
import { InvalidArgumentError } from 'commander';
import { failure } from '../reasons.ts';
import type { Terminal } from '../terminal.ts';
import { paint } from '../terminal-text.ts';
import {
  choiceLines,
  type FormField,
  findChoice,
  formFields,
  linkLines,
  messageLines,
} from './questions.ts';

export type OpenQuestion = Pick<InputRequest, 'id' | 'kind' | 'schema' | 'options'>;

type Response = GivenInput['response'];

const ACCEPT: Response = { action: 'accept' };

export type TypedInputs = Readonly<Record<string, string>>;

/** `<id>=<answer>` of a command line, beside those before it. */
export function toTypedInput(text: string, before: TypedInputs = {}): TypedInputs {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('expected <id of the question>=<answer>.');
  const id = text.slice(0, at);
  if (Object.hasOwn(before, id)) throw new InvalidArgumentError(`"${id}" is answered twice.`);
  return { ...before, [id]: text.slice(at + 1) };
}

export function toAnswers(inputs: TypedInputs, questions: readonly OpenQuestion[]): GivenInput[] {
  return Object.entries(inputs).map(([id, typed]) => {
    const question = questions.find((each) => each.id === id);
    return { id, response: toResponse(typed, question) };
  });
}

function toResponse(typed: string, question: OpenQuestion | undefined): Response {
  if (typed === '/decline') return { action: 'decline' };
  if (typed === '/cancel') return { action: 'cancel' };
  switch (question?.kind) {
    case 'url':
    case 'auth':
      return ACCEPT;
    case 'choice':
      return { ...ACCEPT, content: objectIn(typed) ?? { choice: typed } };
    case 'form':
      return { ...ACCEPT, content: objectIn(typed) ?? toOneField(typed, question) };
    case 'model':
    case 'roots':
      throw unanswerable(question);
    default:
      return { ...ACCEPT, content: objectIn(typed) ?? { text: typed } };
  }
}

/** A form of one field may be answered by its value alone. */
function toOneField(typed: string, { id, schema }: OpenQuestion): Record<string, unknown> {
  const [field, ...more] = formFields(schema);
  if (field === undefined || more.length > 0) {
    const fix = `write --input '${id}={"field": "value"}'`;
    throw failure('answer_does_not_fit', { id, why: 'it asks for several fields', fix });
  }
  const parsed = field.parse(typed);
  if ('value' in parsed) return { [field.name]: parsed.value };
  throw failure('answer_does_not_fit', { id, why: parsed.problem });
}

function unanswerable({ id, kind }: OpenQuestion): FabricError {
  const what = kind === 'model' ? 'it asks for a model' : 'it asks for folders';
  const why = `${what}, which the command line does not have`;
  return failure('answer_does_not_fit', { id, why, fix: `write --input ${id}=/decline` });
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
  const answers = questions.map((question) => quote(`${question.id}=${exampleFor(question)}`));
  return [goOnCommand(goOn), ...answers.map((answer) => `--input ${answer}`)].join(' ');
}

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

// Asks the person at the terminal what an agent asked. What is asked is data: a link is shown and
// never opened, and no file or variable is read for an answer.

type Asker = Pick<Terminal, 'ask' | 'tell'>;

const HINT = '/decline refuses, /cancel gives no answer, Ctrl-C ends the call';

/** One answer for each question; CANCELLED when the person ends the call. */
export async function askPerson(
  terminal: Asker,
  agentId: string,
  questions: readonly InputRequest[],
): Promise<GivenInput[]> {
  const given: GivenInput[] = [];
  for (const question of questions) {
    terminal.tell(`${paint('bold', `${agentId} asks`)} ${paint('dim', `(${HINT})`)}`);
    for (const line of messageLines(question)) terminal.tell(`  ${line}`);
    given.push({ id: question.id, response: await askOne(terminal, question) });
  }
  return given;
}

async function askOne(terminal: Asker, question: InputRequest): Promise<Response> {
  try {
    switch (question.kind) {
      case 'text': {
        const text = await readAnswer(terminal, 'answer', (typed) =>
          typed === '' ? { problem: 'type an answer, or /decline' } : { value: typed },
        );
        return { ...ACCEPT, content: { text } };
      }
      case 'choice':
        return { ...ACCEPT, content: { choice: await askChoice(terminal, question) } };
      case 'form':
        return { ...ACCEPT, content: await askForm(terminal, question) };
      case 'url':
      case 'auth':
        for (const line of linkLines(question.url)) terminal.tell(`  ${line}`);
        await askToAgree(terminal, 'open the link yourself, and press Enter when done', readDone);
        return ACCEPT;
      case 'model':
        return decline(terminal, 'the command line has no model to answer with');
      case 'roots':
        return decline(terminal, 'the command line shares no folders');
    }
  } catch (error) {
    if (error instanceof InputRefusal) return { action: error.action };
    throw error;
  }
}

function decline(terminal: Asker, why: string): Response {
  terminal.tell(`  declined: ${why}`);
  return { action: 'decline' };
}

async function askChoice(terminal: Asker, { options = [] }: InputRequest): Promise<string> {
  const choices = options.map(({ id, label }) => ({ value: id, label }));
  for (const line of choiceLines(choices)) terminal.tell(`  ${line}`);
  return await readAnswer(terminal, 'choice', (typed) => {
    const found = findChoice(choices, typed);
    return found ? { value: String(found.value) } : { problem: 'choose one of these' };
  });
}

async function askForm(terminal: Asker, { schema }: InputRequest) {
  const fields = formFields(schema);
  // A form without fields asks for a yes.
  if (fields.length === 0) await askToAgree(terminal, 'yes or no', readYes);
  const content: [string, unknown][] = [];
  for (const field of fields) {
    const value = await askField(terminal, field);
    if (value !== undefined) content.push([field.name, value]);
  }
  return Object.fromEntries(content);
}

type Read<T> = (typed: string) => { readonly value: T } | { readonly problem: string };

async function askToAgree(terminal: Asker, prompt: string, read: Read<boolean>): Promise<void> {
  if (!(await readAnswer(terminal, prompt, read))) throw new InputRefusal('decline');
}

const readYes: Read<boolean> = (typed) => {
  if (/^y(?:es)?$/i.test(typed)) return { value: true };
  return /^no?$/i.test(typed) ? { value: false } : { problem: 'type yes or no' };
};

const readDone: Read<boolean> = (typed) => {
  if (/^(?:y|yes|done)?$/i.test(typed)) return { value: true };
  if (/^no?$/i.test(typed)) return { value: false };
  return { problem: 'what you type here goes nowhere: press Enter when done, or type /decline' };
};

async function askField(terminal: Asker, field: FormField): Promise<unknown> {
  const { label, note, description, choices = [], isRequired, standard } = field;
  terminal.tell(`  ${label} ${paint('dim', `(${note})`)}${description && `: ${description}`}`);
  for (const line of choiceLines(choices)) terminal.tell(`    ${line}`);
  return await readAnswer(terminal, label, (typed) => {
    if (typed !== '') return field.parse(typed);
    if (standard !== undefined) return { value: standard };
    return isRequired ? { problem: 'this one is required' } : { value: undefined };
  });
}

async function readAnswer<T>(terminal: Asker, prompt: string, read: Read<T>): Promise<T> {
  for (;;) {
    const line = await terminal.ask(`  ${prompt}> `);
    const typed = line?.trim() ?? '/cancel';
    if (typed === '/decline') throw new InputRefusal('decline');
    if (typed === '/cancel') throw new InputRefusal('cancel');
    const answer = read(typed);
    if ('value' in answer) return answer.value;
    terminal.tell(`  ${paint('yellow', answer.problem)}`);
  }
}

class InputRefusal extends Error {
  readonly action: 'decline' | 'cancel';

  constructor(action: 'decline' | 'cancel') {
    super(action);
    this.action = action;
  }
}
