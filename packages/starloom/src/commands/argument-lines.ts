import { paint } from '../paint.ts';
import { toOneLine } from '../plain-text.ts';

const MAX_ARGUMENTS = 60;
const NAME = 60;
const NOTE = 120;
const DESCRIPTION = 200;

/**
 * `path  string, required  The file to read`, one line for each argument. The schema is the agent's:
 * whatever has another shape than expected is left out.
 */
export function argumentLines(schema: unknown): string[] {
  const { properties, required } = toMap(schema);
  const wanted = new Set(Array.isArray(required) ? required : []);
  const all = Object.entries(toMap(properties));
  const rows = all.slice(0, MAX_ARGUMENTS).map(([name, property]) => {
    const { description } = toMap(property);
    return {
      name: toOneLine(name, NAME),
      note: toOneLine(noteOf(toMap(property), wanted.has(name)), NOTE),
      text: typeof description === 'string' ? toOneLine(description, DESCRIPTION) : '',
    };
  });
  const width = Math.max(0, ...rows.map(({ name }) => name.length));
  const left = all.length - rows.length;
  return [
    ...rows.map(({ name, note, text }) =>
      `${name.padEnd(width)}  ${paint('dim', note)}  ${text}`.trimEnd(),
    ),
    ...(left > 0 ? [`… and ${left} more`] : []),
  ];
}

function noteOf(property: Readonly<Record<string, unknown>>, isRequired: boolean): string {
  const { type, enum: choices, default: standard } = property;
  const kinds = Array.isArray(choices) ? choices : [type ?? 'any'].flat();
  return [
    kinds.map(String).join(' | '),
    ...(isRequired ? ['required'] : []),
    ...(standard === undefined ? [] : [`default ${JSON.stringify(standard)}`]),
  ].join(', ');
}

function toMap(value: unknown): Readonly<Record<string, unknown>> {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMap ? { ...value } : {};
}
