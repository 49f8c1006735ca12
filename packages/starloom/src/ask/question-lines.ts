// A question of an agent, for people. Its text is the agent's: every line of it stands behind a bar,
// so that it cannot pass for a line of ours.

import type { InputRequest } from '@starloom/core';
import { paint, withoutPaint } from '../paint.ts';
import { toOneLine } from '../plain-text.ts';
import { formFields } from './form-field.ts';

const MAX_LINES = 40;
const WIDTH = 2_000;
const URL_WIDTH = 4_000;

export function messageLines({ message }: Pick<InputRequest, 'message'>): string[] {
  const lines = withoutPaint(message).trim().split('\n');
  const left = lines.length - MAX_LINES;
  return [
    ...lines.slice(0, MAX_LINES).map((line) => `│ ${toOneLine(line, WIDTH)}`.trimEnd()),
    ...(left > 0 ? [`│ … ${left} lines more`] : []),
  ];
}

/** The link whole, and the machine it leads to by itself. */
export function linkLines(url: string | undefined): string[] {
  if (url === undefined) return ['(the agent gave no link)'];
  const parsed = URL.parse(url);
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol);
  const note = isWeb ? `leads to ${parsed.host}` : 'this is no web address: be careful';
  return [toOneLine(url, URL_WIDTH), `(${note})`];
}

/** The question with what may be answered, where no person can be asked at once. */
export function questionLines(question: InputRequest, agentId: string): string[] {
  const { id, kind } = question;
  return [
    `question ${toOneLine(id, WIDTH)} of ${toOneLine(agentId, WIDTH)} (${kind})`,
    ...[...messageLines(question), ...answerLines(question)].map((line) => `  ${line}`),
  ];
}

function answerLines({ kind, url, schema, options = [] }: InputRequest): string[] {
  switch (kind) {
    case 'form':
      return fieldLines(schema);
    case 'choice':
      return options.map((option) => toOneLine(`- ${option.id}: ${option.label}`, WIDTH));
    case 'url':
    case 'auth':
      return linkLines(url);
    case 'text':
    case 'model':
    case 'roots':
      return [];
  }
}

/** Under the names that an answer uses. */
function fieldLines(schema: unknown): string[] {
  return formFields(schema).flatMap(({ name, note, label, description, choices = [] }) => {
    const about = [...(label === name ? [] : [label]), ...(description ? [description] : [])];
    const values = choices.map(({ value, label: meaning }) =>
      String(value) === meaning ? meaning : `${String(value)} = ${meaning}`,
    );
    return [
      [toOneLine(name, WIDTH), paint('dim', note), about.join(': ')].join('  ').trimEnd(),
      ...values.map((value) => `  - ${toOneLine(value, WIDTH)}`),
    ];
  });
}
