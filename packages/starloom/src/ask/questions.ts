// One field of a form that an agent asks to be filled in. The schema is the agent's: a part of it
// that has another shape than expected is passed over, and the gateway checks the answer as a whole.

import { type InputRequest, toFields } from '@starloom/core';
import { paint, toOneLine, withoutPaint } from '../terminal-text.ts';

type Parsed = { readonly value: unknown } | { readonly problem: string };

export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  /** What is expected: `whole number from 1 to 9, required`. */
  readonly note: string;
  readonly isRequired: boolean;
  /** Taken when nothing is typed. */
  readonly standard: unknown;
  readonly choices: readonly Choice[] | undefined;
  readonly parse: (text: string) => Parsed;
}

type Schema = Readonly<Record<string, unknown>>;

const MAX_WIDTH = 300;

export function formFields(schema: unknown): FormField[] {
  const { properties, required } = toFields(schema);
  const wanted = new Set(Array.isArray(required) ? required : []);
  return Object.entries(toFields(properties)).map(([name, property]) =>
    toField(name, toFields(property), wanted.has(name)),
  );
}

function toField(name: string, schema: Schema, isRequired: boolean): FormField {
  const { title, description, default: standard } = schema;
  const { expected, choices, parse } = kindOf(schema);
  const note = [
    expected,
    isRequired ? 'required' : 'optional',
    ...(standard === undefined ? [] : [`default ${JSON.stringify(standard)}`]),
  ].join(', ');
  return {
    name,
    label: toOneLine(typeof title === 'string' && title !== '' ? title : name, MAX_WIDTH),
    description: typeof description === 'string' ? toOneLine(description, MAX_WIDTH) : '',
    note: toOneLine(note, MAX_WIDTH),
    isRequired,
    standard,
    choices,
    parse,
  };
}

type Kind = Pick<FormField, 'parse'> & Partial<Pick<FormField, 'choices'>> & { expected: string };

function kindOf(schema: Schema): Kind {
  const type = [schema.type].flat().find((name) => name !== 'null');
  const choices = choicesIn(schema);
  if (choices) return oneOf(choices);
  switch (type) {
    case 'string':
      return text(schema);
    case 'integer':
    case 'number':
      return number(schema, type === 'integer');
    case 'boolean':
      return { expected: 'yes or no', parse: parseBoolean };
    case 'array': {
      const items = choicesIn(toFields(schema.items));
      return items ? someOf(items, schema) : json;
    }
    default:
      return json;
  }
}

function oneOf(choices: readonly Choice[]): Kind {
  const expected = 'one of these';
  return {
    expected,
    choices,
    parse: (typed) => {
      const found = findChoice(choices, typed);
      return found ? { value: found.value } : { problem: `choose ${expected}` };
    },
  };
}

function someOf(choices: readonly Choice[], { minItems, maxItems }: Schema): Kind {
  const bounds = boundsOf(minItems, maxItems);
  const expected = `any of these, separated by commas${bounds && ` (${bounds})`}`;
  return {
    expected,
    choices,
    parse: (typed) => {
      const words = typed.split(',').filter((word) => word.trim() !== '');
      const found = words.map((word) => findChoice(choices, word));
      const unknown = words.find((_, index) => !found[index]);
      if (unknown !== undefined) return { problem: `"${unknown.trim()}" is none of these` };
      const value = [...new Set(found.map((choice) => choice?.value))];
      const fits = isWithin(value.length, minItems, maxItems);
      return fits ? { value } : { problem: `choose ${bounds}` };
    },
  };
}

/** A `pattern` is left to the gateway: an agent's regular expression may never end. */
function text({ minLength, maxLength, format, pattern }: Schema): Kind {
  const bounds = boundsOf(minLength, maxLength);
  const notes = [
    typeof format === 'string' ? (FORMATS[format]?.[0] ?? `text, ${format}`) : 'text',
    ...(bounds ? [`${bounds} characters`] : []),
    ...(typeof pattern === 'string' ? [`like ${pattern}`] : []),
  ];
  const expected = notes.join(', ');
  return {
    expected,
    parse: (value) => {
      const fits = typeof format !== 'string' || (FORMATS[format]?.[1](value) ?? true);
      const isLong = isWithin([...value].length, minLength, maxLength);
      return fits && isLong ? { value } : { problem: `expected ${expected}` };
    },
  };
}

type Format = readonly [expected: string, fits: (text: string) => boolean];

const isDate = (text: string) => !Number.isNaN(Date.parse(text));
const FORMATS: Readonly<Record<string, Format>> = {
  email: ['email address', (text) => /^[^\s@]+@[^\s@]+$/.test(text)],
  uri: ['address such as https://…', (text) => URL.canParse(text)],
  date: ['date as 2026-01-31', (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDate(text)],
  'date-time': [
    'time as 2026-01-31T12:00:00Z',
    (text) => /^\d{4}-\d\d-\d\dT\S+$/.test(text) && isDate(text),
  ],
};

function number({ minimum, maximum }: Schema, isWhole: boolean): Kind {
  const bounds = boundsOf(minimum, maximum);
  const expected = `${isWhole ? 'whole number' : 'number'}${bounds && ` ${bounds}`}`;
  return {
    expected,
    parse: (typed) => {
      const value = Number(typed);
      const isKind = isWhole ? Number.isSafeInteger(value) : Number.isFinite(value);
      const fits = /\d/.test(typed) && isKind && isWithin(value, minimum, maximum);
      return fits ? { value } : { problem: `expected a ${expected}` };
    },
  };
}

function parseBoolean(typed: string): Parsed {
  if (/^(?:y|yes|true)$/i.test(typed)) return { value: true };
  return /^(?:n|no|false)$/i.test(typed) ? { value: false } : { problem: 'expected yes or no' };
}

const json: Kind = {
  expected: 'JSON',
  parse: (typed) => {
    try {
      return { value: JSON.parse(typed) };
    } catch {
      return { problem: 'expected JSON' };
    }
  },
};

function boundsOf(least: unknown, most: unknown): string {
  if (typeof least === 'number' && typeof most === 'number') return `from ${least} to ${most}`;
  if (typeof least === 'number') return `at least ${least}`;
  return typeof most === 'number' ? `at most ${most}` : '';
}

function isWithin(value: number, least: unknown, most: unknown): boolean {
  const isEnough = typeof least !== 'number' || value >= least;
  return isEnough && (typeof most !== 'number' || value <= most);
}

interface Choice {
  readonly value: unknown;
  readonly label: string;
}

const CHOICE_WIDTH = 200;

/** Of `enum` (with `enumNames`), or of `oneOf` and `anyOf` with `const` and `title`. */
function choicesIn({ enum: values, enumNames, oneOf, anyOf }: Schema): Choice[] | undefined {
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, index) => toChoice(value, names[index]));
  }
  const branches = [oneOf, anyOf].find(Array.isArray);
  if (!branches?.every(isConst)) return undefined;
  return branches.map((branch) => toChoice(branch.const, branch.title));
}

/** Whether a choice is made by its number: not where a value looks like one itself. */
function isNumbered(choices: readonly Choice[]): boolean {
  return choices.every(({ value }) => !/^\s*\d+\s*$/.test(String(value)));
}

export function choiceLines(choices: readonly Choice[]): string[] {
  const numbered = isNumbered(choices);
  return choices.map(({ value, label }, index) => {
    if (numbered) return `${index + 1}) ${label}`;
    const shown = toOneLine(String(value), CHOICE_WIDTH);
    return shown === label ? `- ${shown}` : `- ${shown}: ${label}`;
  });
}

export function findChoice(choices: readonly Choice[], typed: string): Choice | undefined {
  const word = typed.trim();
  if (isNumbered(choices) && /^\d+$/.test(word)) return choices[Number(word) - 1];
  const isNamed = ({ label }: Choice) => label.toLowerCase() === word.toLowerCase();
  return choices.find(({ value }) => String(value) === word) ?? choices.find(isNamed);
}

function toChoice(value: unknown, name: unknown): Choice {
  const label = toOneLine(typeof name === 'string' ? name : String(value), CHOICE_WIDTH);
  return { value, label };
}

function isConst(value: unknown): value is { readonly const: unknown; readonly title?: unknown } {
  return typeof value === 'object' && value !== null && 'const' in value;
}

// A question of an agent, for people. Its text is the agent's: every line of it stands behind a bar,
// so that it cannot pass for a line of ours.

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
