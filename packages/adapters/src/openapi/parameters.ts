// Parameters of an operation: where each stands in the request, and how its value is written there.

import { type Fields, isObject } from '@starloom/core';
import {
  badArgument,
  encode,
  encodePairs,
  encodeSegment,
  toHeaderValue,
  toText,
} from '../http/encode-value.ts';
import type { OpenApiDocument } from './document.ts';
import { type SchemaBundle, Unsupported } from './to-schema.ts';

type ParameterPlace = 'path' | 'query' | 'header';

export interface Parameter {
  readonly place: ParameterPlace;
  readonly name: string;
  /** Its name among the arguments. */
  readonly argument: string;
  readonly isRequired: boolean;
  readonly schema: unknown;
  /** How lists and maps are written. */
  readonly style: string;
  readonly explode: boolean;
  /** The value is written as JSON. */
  readonly isJson: boolean;
}

const PLACES = ['path', 'query', 'header'] as const;
const MAX_PARAMETERS = 200;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers that are ours, or the connection's: a document does not get to set them. */
const OWN_HEADERS =
  /^(accept|authorization|connection|content-.*|cookie|expect|forwarded|host|keep-alive|origin|proxy-.*|referer|sec-.*|te|trailer|traceparent|tracestate|transfer-encoding|upgrade|via|x-agent-mandate|x-forwarded-.*|x-openstarry-.*)$/i;
/** The specification says that parameters of these names are ignored. */
const IGNORED_HEADERS = /^(accept|content-type|authorization)$/i;

/** What the manifest sends itself: no argument takes its place, or stands beside it. */
export interface OwnValues {
  /** In lower case. */
  readonly headers: ReadonlySet<string>;
  readonly query: ReadonlySet<string>;
}

/** Those of the path, overridden by those of the operation. */
export function parametersOf(
  document: OpenApiDocument,
  ofPath: unknown,
  ofOperation: unknown,
  bundle: SchemaBundle,
  own: OwnValues,
): Parameter[] {
  const all = new Map<string, Fields>();
  for (const list of [ofPath, ofOperation]) {
    for (const value of Array.isArray(list) ? list.slice(0, MAX_PARAMETERS) : []) {
      const parameter = document.resolve(value);
      if (!parameter) throw new Unsupported('a parameter is not in the document');
      all.set(`${parameter.in} ${parameter.name}`, parameter);
    }
  }
  const taken = new Set(['body']);
  return PLACES.flatMap((place) =>
    [...all.values()]
      .filter((parameter) => parameter.in === place && !isOwn(parameter, own))
      .flatMap((parameter) => toParameter(parameter, place, bundle, taken)),
  ).concat(refuseOthers(all.values()));
}

/** Also those that the specification says to ignore. */
function isOwn({ in: place, name }: Fields, own: OwnValues): boolean {
  if (typeof name !== 'string') return false;
  if (place === 'query') return own.query.has(name);
  return place === 'header' && (IGNORED_HEADERS.test(name) || own.headers.has(name.toLowerCase()));
}

/** Cookies are not sent: they hold what others gave to a browser. */
function refuseOthers(all: Iterable<Fields>): never[] {
  for (const { in: place, required } of all) {
    if (required === true && !PLACES.some((known) => known === place)) {
      throw new Unsupported(`it needs a parameter in "${String(place).slice(0, 32)}"`);
    }
  }
  return [];
}

function toParameter(
  parameter: Fields,
  place: ParameterPlace,
  bundle: SchemaBundle,
  taken: Set<string>,
): Parameter[] {
  const { name, required, description } = parameter;
  if (typeof name !== 'string' || name === '' || name.length > 256) return [];
  const isRequired = place === 'path' || required === true;
  const problem = problemOf(parameter, name, place);
  if (problem !== undefined && isRequired) throw new Unsupported(problem);
  if (problem !== undefined) return [];
  const argument = taken.has(name) ? `${place}_${name}` : name;
  if (taken.has(argument)) throw new Unsupported('two parameters have the same name');
  taken.add(argument);
  const media = jsonContent(parameter);
  const schema = bundle.schema(media ? media.schema : parameter.schema);
  const isSilent = isObject(schema) && schema.description === undefined;
  const { style = place === 'query' ? 'form' : 'simple', explode = style === 'form' } = parameter;
  return [
    {
      place,
      name,
      argument,
      isRequired,
      schema: isSilent && typeof description === 'string' ? { ...schema, description } : schema,
      style: String(style),
      explode: explode === true,
      isJson: media !== undefined,
    },
  ];
}

function problemOf(parameter: Fields, name: string, place: ParameterPlace): string | undefined {
  if (place === 'header' && (!HEADER_NAME.test(name) || OWN_HEADERS.test(name))) {
    return `it wants to set the header "${name.slice(0, 64)}"`;
  }
  const { style, content } = parameter;
  if (content !== undefined && !jsonContent(parameter)) return 'a parameter is no JSON';
  const known = { path: ['simple'], header: ['simple'], query: QUERY_STYLES }[place];
  if (style === undefined || known.some((each) => each === style)) return undefined;
  return `it has a parameter of style "${String(style).slice(0, 32)}"`;
}

const QUERY_STYLES = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'];

function jsonContent({ content }: Fields): Fields | undefined {
  const media = isObject(content) ? content['application/json'] : undefined;
  return isObject(media) ? media : undefined;
}

/** One piece of a path. */
export function toSegment(parameter: Parameter, value: unknown): string {
  const { argument, isJson } = parameter;
  if (isJson) return encodeSegment(JSON.stringify(value), argument);
  const values = Array.isArray(value) ? value : [value];
  if (values.length === 0) throw badArgument(argument, 'cannot be part of a path');
  return values.map((each) => encodeSegment(each, argument)).join(',');
}

export function toHeader({ argument, isJson }: Parameter, value: unknown): string {
  if (isJson) return toHeaderValue(JSON.stringify(value), argument);
  const values = Array.isArray(value) ? value : [value];
  return values.map((each) => toHeaderValue(each, argument)).join(',');
}

const DELIMITERS: Readonly<Record<string, string>> = {
  form: ',',
  spaceDelimited: '%20',
  pipeDelimited: '%7C',
};

/** Pairs of a query. Names come from the document alone, but for the keys of a `deepObject`. */
export function toPairs(parameter: Parameter, value: unknown): string[] {
  const { name, argument, style, explode, isJson } = parameter;
  if (isJson) return encodePairs(name, JSON.stringify(value));
  if (isObject(value)) {
    if (style !== 'deepObject') throw badArgument(argument, 'cannot be an object here');
    return Object.entries(value).flatMap(([key, each]) => encodePairs(`${name}[${key}]`, each));
  }
  if (!Array.isArray(value) || explode) return encodePairs(name, value);
  const items = value.map((each) => encode(toText(each, argument), argument));
  return [`${encode(name, argument)}=${items.join(DELIMITERS[style] ?? ',')}`];
}
