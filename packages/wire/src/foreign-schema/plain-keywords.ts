// Keywords of numbers and strings.

import type { Compiler } from './compiler.ts';
import { FORMATS } from './formats.ts';
import { numberOf, type SchemaFields } from './schema-fields.ts';
import type { Check } from './validation.ts';

const BOUNDS = {
  minimum: [(value: number, bound: number) => value >= bound, '>='],
  maximum: [(value: number, bound: number) => value <= bound, '<='],
  exclusiveMinimum: [(value: number, bound: number) => value > bound, '>'],
  exclusiveMaximum: [(value: number, bound: number) => value < bound, '<'],
} as const;

export function numberChecks(schema: SchemaFields): Check[] {
  const checks: Check[] = [];
  for (const [keyword, [fits, sign]] of Object.entries(BOUNDS)) {
    const given = schema[keyword];
    // Until draft 4 these were flags beside the bound.
    if (given === undefined || typeof given === 'boolean') continue;
    const bound = numberOf(keyword, given);
    checks.push(
      (value, validation) =>
        fits(value as number, bound) || validation.fail(`must be ${sign} ${bound}`),
    );
  }
  if (schema.multipleOf !== undefined) {
    const step = numberOf('multipleOf', schema.multipleOf, Number.MIN_VALUE);
    checks.push(
      (value, validation) =>
        Number.isInteger((value as number) / step) ||
        validation.fail(`must be multiple of ${step}`),
    );
  }
  return checks;
}

export function stringChecks(schema: SchemaFields, compiler: Compiler): Check[] {
  return [lengthCheck(schema), patternCheck(schema, compiler), formatCheck(schema)].flatMap(
    (check) => check ?? [],
  );
}

function lengthCheck({ minLength, maxLength }: SchemaFields): Check | undefined {
  if (minLength === undefined && maxLength === undefined) return undefined;
  const least = minLength === undefined ? 0 : numberOf('minLength', minLength, 0);
  const most = maxLength === undefined ? Infinity : numberOf('maxLength', maxLength, 0);
  return (value, validation) => {
    const text = value as string;
    // A code point takes one or two code units, so counting is rarely needed.
    const isSure = text.length <= most && (least === 0 || text.length >= 2 * least);
    const length = isSure ? text.length : codePointsIn(text);
    if (!isSure) validation.spend(text.length / 16);
    if (length < least) return validation.fail(`must NOT have fewer than ${least} characters`);
    if (length > most) return validation.fail(`must NOT have more than ${most} characters`);
    return true;
  };
}

function codePointsIn(text: string): number {
  let pairs = 0;
  for (let at = 1; at < text.length; at += 1) {
    const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
    if (isLow && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) pairs += 1;
  }
  return text.length - pairs;
}

function patternCheck({ pattern }: SchemaFields, compiler: Compiler): Check | undefined {
  if (pattern === undefined) return undefined;
  const test = compiler.pattern(pattern);
  return (value, validation) =>
    test(value as string, validation) !== false ||
    validation.fail(`must match pattern "${pattern}"`);
}

function formatCheck({ format }: SchemaFields): Check | undefined {
  const isFormat = typeof format === 'string' && Object.hasOwn(FORMATS, format);
  const fits = isFormat ? FORMATS[format] : undefined;
  if (!fits) return undefined;
  return (value, validation) => {
    const text = value as string;
    validation.spend(text.length / 16);
    return fits(text) || validation.fail(`must match format "${format}"`);
  };
}
