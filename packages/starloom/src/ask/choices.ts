import { toOneLine } from '../plain-text.ts';

export interface Choice {
  readonly value: unknown;
  readonly label: string;
}

type Schema = Readonly<Record<string, unknown>>;

const WIDTH = 200;

/** Of `enum` (with `enumNames`), or of `oneOf` and `anyOf` with `const` and `title`. */
export function choicesIn({ enum: values, enumNames, oneOf, anyOf }: Schema): Choice[] | undefined {
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, index) => toChoice(value, names[index]));
  }
  const branches = [oneOf, anyOf].find(Array.isArray);
  if (!branches?.every(isConst)) return undefined;
  return branches.map((branch) => toChoice(branch.const, branch.title));
}

/** Whether a choice is made by its number: not where a value looks like one itself. */
export function isNumbered(choices: readonly Choice[]): boolean {
  return choices.every(({ value }) => !/^\s*\d+\s*$/.test(String(value)));
}

/** One line for each, as it is chosen. */
export function choiceLines(choices: readonly Choice[]): string[] {
  const numbered = isNumbered(choices);
  return choices.map(({ value, label }, index) => {
    if (numbered) return `${index + 1}) ${label}`;
    const shown = toOneLine(String(value), WIDTH);
    return shown === label ? `- ${shown}` : `- ${shown}: ${label}`;
  });
}

/** By its number, its value or its name. */
export function findChoice(choices: readonly Choice[], typed: string): Choice | undefined {
  const word = typed.trim();
  if (isNumbered(choices) && /^\d+$/.test(word)) return choices[Number(word) - 1];
  const isNamed = ({ label }: Choice) => label.toLowerCase() === word.toLowerCase();
  return choices.find(({ value }) => String(value) === word) ?? choices.find(isNamed);
}

function toChoice(value: unknown, name: unknown): Choice {
  const label = toOneLine(typeof name === 'string' ? name : String(value), WIDTH);
  return { value, label };
}

function isConst(value: unknown): value is { readonly const: unknown; readonly title?: unknown } {
  return typeof value === 'object' && value !== null && 'const' in value;
}
