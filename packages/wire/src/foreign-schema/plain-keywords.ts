// Keywords of numbers and strings, with the formats of strings.

import { isIPv4, isIPv6 } from 'node:net';
import { lengthCheck } from './frequent-keywords.ts';
import { type Compiler, numberOf, type SchemaFields } from './schema-fields.ts';
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

/** The formats of JSON Schema and OpenAPI that are checked, each in linear time; others pass. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  'date-time': isDateTime,
  duration: (text) => DURATION.test(text) && !/[PT]$/.test(text),
  email: isEmail,
  hostname: isHostname,
  ipv4: isIPv4,
  ipv6: (text) => isIPv6(text) && !text.includes('%'),
  uri: (text) => SCHEME.test(text) && isUriText(text),
  url: (text) => SCHEME.test(text) && isUriText(text),
  'uri-reference': isUriText,
  uuid: (text) => UUID.test(text),
  'json-pointer': (text) => (text === '' || text.startsWith('/')) && !/~(?![01])/.test(text),
  byte: (text) => text.length % 4 === 0 && BASE64.test(text),
};

const DURATION =
  /^P(?:\d{1,20}W|(?:\d{1,20}Y)?(?:\d{1,20}M)?(?:\d{1,20}D)?(?:T(?:\d{1,20}H)?(?:\d{1,20}M)?(?:\d{1,20}S)?)?)$/;
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d)(?::?(\d\d))?)$/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** Characters that no URI has, and a percent sign without its two digits. */
const NOT_URI = /[^!#-;=?-Z[\]_a-z~]|%(?![0-9a-f]{2})/i;
const UUID = /^(?:urn:uuid:)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]+$/i;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

function isUriText(text: string): boolean {
  return !NOT_URI.test(text);
}

function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const year = Number(text.slice(0, 4));
  const month = Number(text.slice(5, 7));
  const day = Number(text.slice(8));
  if (month < 1 || month > 12 || day < 1) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= (month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);
}

/** With the zone; a leap second is the last of a day in UTC. */
function isTime(text: string): boolean {
  const found = TIME.exec(text);
  if (!found) return false;
  const [hour = 0, minute = 0, second = 0] = found.slice(1, 4).map(Number);
  const [zoneHour, zoneMinute] = [Number(found[5] ?? 0), Number(found[6] ?? 0)];
  if (hour > 23 || minute > 59 || zoneHour > 23 || zoneMinute > 59) return false;
  if (second < 60) return true;
  const offset = (zoneHour * 60 + zoneMinute) * (found[4] === '-' ? -1 : 1);
  return second === 60 && (hour * 60 + minute - offset + 1_440) % 1_440 === 1_439;
}

function isDateTime(text: string): boolean {
  const separator = text.charAt(10);
  const isApart = separator === 'T' || separator === 't' || separator === ' ';
  return isApart && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  const name = text.slice(0, at);
  if (at < 1 || text.length > 320 || name.startsWith('.') || name.endsWith('.')) return false;
  const domain = text.slice(at + 1);
  return (
    LOCAL_PART.test(name) && !name.includes('..') && isHostname(domain) && !domain.endsWith('.')
  );
}

function isHostname(text: string): boolean {
  if (text.length > 254) return false;
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  return name.length <= 253 && name.split('.').every((label) => LABEL.test(label));
}
