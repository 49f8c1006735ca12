// Asks the person at the terminal what an agent asked. What is asked is data: a link is shown and
// never opened, and no file or variable is read for an answer.

import type { GivenInput, InputRequest } from '@starloom/core';
import { paint } from '../paint.ts';
import type { Terminal } from '../terminal.ts';
import { choiceLines, type FormField, findChoice, formFields } from './form-field.ts';
import { linkLines, messageLines } from './question-lines.ts';

type Asker = Pick<Terminal, 'ask' | 'tell'>;

type Response = GivenInput['response'];

const ACCEPT: Response = { action: 'accept' };
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
      case 'text':
        return { ...ACCEPT, content: { text: await askText(terminal) } };
      case 'choice':
        return { ...ACCEPT, content: { choice: await askChoice(terminal, question) } };
      case 'form':
        return { ...ACCEPT, content: await askForm(terminal, question) };
      case 'url':
      case 'auth':
        await askToVisit(terminal, question);
        return ACCEPT;
      case 'model':
        return declined(terminal, 'the command line has no model to answer with');
      case 'roots':
        return declined(terminal, 'the command line shares no folders');
    }
  } catch (error) {
    if (error instanceof InputRefusal) return { action: error.action };
    throw error;
  }
}

function declined(terminal: Asker, why: string): Response {
  terminal.tell(`  declined: ${why}`);
  return { action: 'decline' };
}

async function askText(terminal: Asker): Promise<string> {
  return await readAnswer(terminal, 'answer', (typed) =>
    typed === '' ? { problem: 'type an answer, or /decline' } : { value: typed },
  );
}

async function askChoice(terminal: Asker, { options = [] }: InputRequest): Promise<string> {
  const choices = options.map(({ id, label }) => ({ value: id, label }));
  for (const line of choiceLines(choices)) terminal.tell(`  ${line}`);
  return await readAnswer(terminal, 'choice', (typed) => {
    const found = findChoice(choices, typed);
    return found ? { value: String(found.value) } : { problem: 'choose one of these' };
  });
}

async function askForm(
  terminal: Asker,
  { schema }: InputRequest,
): Promise<Readonly<Record<string, unknown>>> {
  const fields = formFields(schema);
  if (fields.length === 0) return await askToAgree(terminal);
  const content: [string, unknown][] = [];
  for (const field of fields) {
    const value = await askField(terminal, field);
    if (value !== undefined) content.push([field.name, value]);
  }
  return Object.fromEntries(content);
}

/** A form without fields asks for a yes. */
async function askToAgree(terminal: Asker): Promise<Record<string, never>> {
  const isYes = await readAnswer(terminal, 'yes or no', (typed) => {
    if (/^y(?:es)?$/i.test(typed)) return { value: true };
    return /^no?$/i.test(typed) ? { value: false } : { problem: 'type yes or no' };
  });
  if (!isYes) throw new InputRefusal('decline');
  return {};
}

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

async function askToVisit(terminal: Asker, { url }: InputRequest): Promise<void> {
  for (const line of linkLines(url)) terminal.tell(`  ${line}`);
  const isDone = await readAnswer(
    terminal,
    'open the link yourself, and press Enter when done',
    readDone,
  );
  if (!isDone) throw new InputRefusal('decline');
}

function readDone(typed: string): { readonly value: boolean } | { readonly problem: string } {
  if (/^(?:y|yes|done)?$/i.test(typed)) return { value: true };
  if (/^no?$/i.test(typed)) return { value: false };
  return { problem: 'what you type here goes nowhere: press Enter when done, or type /decline' };
}

async function readAnswer<T>(
  terminal: Asker,
  prompt: string,
  parse: (typed: string) => { readonly value: T } | { readonly problem: string },
): Promise<T> {
  for (;;) {
    const parsed = parse(await readLine(terminal, prompt));
    if ('value' in parsed) return parsed.value;
    terminal.tell(`  ${paint('yellow', parsed.problem)}`);
  }
}

async function readLine(terminal: Asker, prompt: string): Promise<string> {
  const line = await terminal.ask(`  ${prompt}> `);
  const typed = line?.trim() ?? '/cancel';
  if (typed === '/decline') throw new InputRefusal('decline');
  if (typed === '/cancel') throw new InputRefusal('cancel');
  return typed;
}

/** The person does not answer. */
class InputRefusal extends Error {
  readonly action: 'decline' | 'cancel';

  constructor(action: 'decline' | 'cancel') {
    super(action);
    this.action = action;
  }
}
