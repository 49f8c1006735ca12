import type { InputRequest } from '@starloom/core';
import { formFields } from './form-field.ts';

export interface GoOn {
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
