import { isObject, toFields } from '@starloom/core';
import { badArgument, encodePairs, withPairs } from '../http/encode-value.ts';
import type { HttpRequest } from '../http/http-client.ts';
import type { Target } from '../http/target.ts';
import type { OpenApiDocument } from './document.ts';
import type { Operation } from './operations.ts';
import { type Parameter, toHeader, toPairs, toSegment } from './parameters.ts';
import { type SchemaBundle, Unsupported } from './to-schema.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** The request of one call; BAD_INPUT when an argument has no place in it, and nothing is sent. */
export function toRequest(
  { method, path, parameters, body }: Operation,
  given: Arguments,
  target: Target,
): HttpRequest {
  assertKnown(given, [...parameters.map(({ argument }) => argument), ...(body ? ['body'] : [])]);
  const valued = parameters.flatMap((parameter) => {
    const value = argumentOf(given, parameter);
    return value === undefined ? [] : [{ parameter, value }];
  });
  const of = (place: Parameter['place']) => valued.filter((each) => each.parameter.place === place);
  const pieces = path.map((piece) => {
    return typeof piece === 'string' ? piece : toSegment(piece, argumentOf(given, piece));
  });
  const pairs = of('query').flatMap(({ parameter, value }) => toPairs(parameter, value));
  const headers = of('header').map(({ parameter, value }) => {
    return [parameter.name.toLowerCase(), toHeader(parameter, value)] as const;
  });
  const content = body && Object.hasOwn(given, 'body') ? given.body : undefined;
  if (body?.isRequired && content === undefined) throw badArgument('body', 'is missing');
  return {
    method,
    path: withPairs(target.pathOf(pieces.join('')), pairs),
    headers: Object.fromEntries(headers),
    ...(body && content !== undefined && toBody(body, content)),
  };
}

function argumentOf(given: Arguments, { argument, isRequired }: Parameter): unknown {
  const value = Object.hasOwn(given, argument) ? given[argument] : undefined;
  if (value !== undefined && value !== null) return value;
  if (isRequired) throw badArgument(argument, 'is missing');
  return undefined;
}

/** Refuses arguments that the operation has no place for. */
function assertKnown(given: Arguments, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw badArgument(unknown, 'is not one of the operation');
}

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = /^application\/(.+\+)?json\b/i;

export interface BodyPlace {
  readonly type: string;
  readonly form: 'json' | 'form' | 'text';
  readonly isRequired: boolean;
  readonly schema: unknown;
}

/** The body of an operation, in the first form that can be written; none where it has none. */
export function bodyOf(
  document: OpenApiDocument,
  value: unknown,
  bundle: SchemaBundle,
): BodyPlace | undefined {
  if (value === undefined) return undefined;
  const body = document.resolve(value);
  const content = toFields(body?.content);
  const isRequired = body?.required === true;
  const types = Object.keys(content);
  const type = types.find((each) => JSON_TYPE.test(each)) ?? types.find((each) => formOf(each));
  if (type === undefined) {
    if (isRequired) throw new Unsupported('its body has a form that is not written here');
    return undefined;
  }
  const media = content[type];
  const schema = bundle.schema(toFields(media).schema ?? {});
  return { type: plainType(type), form: formOf(type) ?? 'json', isRequired, schema };
}

/** The argument `body` as the body of a request. */
function toBody({ type, form }: BodyPlace, value: unknown): Pick<HttpRequest, 'body' | 'content'> {
  if (form === 'json') return { content: { type, text: JSON.stringify(value) } };
  if (form === 'text') {
    if (typeof value !== 'string') throw badArgument('body', 'must be a text here');
    return { content: { type, text: value } };
  }
  if (!isObject(value)) throw badArgument('body', 'must be an object here');
  const pairs = Object.entries(value).flatMap(([name, each]) => encodePairs(name, each));
  return { content: { type, text: pairs.join('&') } };
}

function formOf(type: string): BodyPlace['form'] | undefined {
  const plain = plainType(type);
  if (JSON_TYPE.test(plain)) return 'json';
  if (plain === FORM) return 'form';
  return plain === 'text/plain' ? 'text' : undefined;
}

/** Without parameters, and nothing that could end a header. */
function plainType(type: string): string {
  const plain = type.split(';', 1).join('').trim().toLowerCase();
  return /^[a-z0-9.+-]+\/[a-z0-9.+-]+$/.test(plain) ? plain : 'application/json';
}
