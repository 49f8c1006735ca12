import { badArgument, encodePairs } from '../http/encode-value.ts';
import type { HttpRequest } from '../http/http-client.ts';
import { isMap, type OpenApiDocument } from './document.ts';
import { type SchemaBundle, Unsupported } from './to-schema.ts';

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
  const content = isMap(body?.content) ? body.content : {};
  const isRequired = body?.required === true;
  const types = Object.keys(content);
  const type = types.find((each) => JSON_TYPE.test(each)) ?? types.find((each) => formOf(each));
  if (type === undefined) {
    if (isRequired) throw new Unsupported('its body has a form that is not written here');
    return undefined;
  }
  const media = content[type];
  const schema = bundle.schema(isMap(media) ? media.schema : {});
  return { type: plainType(type), form: formOf(type) ?? 'json', isRequired, schema };
}

/** The argument `body` as the body of a request. */
export function toBody(
  { type, form }: BodyPlace,
  value: unknown,
): Pick<HttpRequest, 'body' | 'content'> {
  if (form === 'json') return { content: { type, text: JSON.stringify(value) } };
  if (form === 'text') {
    if (typeof value !== 'string') throw badArgument('body', 'must be a text here');
    return { content: { type, text: value } };
  }
  if (!isMap(value)) throw badArgument('body', 'must be an object here');
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
