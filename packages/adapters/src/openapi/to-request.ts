import { badArgument, withPairs } from '../http/encode-value.ts';
import type { HttpRequest } from '../http/http-client.ts';
import type { Target } from '../http/target.ts';
import type { Operation } from './operations.ts';
import { type Parameter, toHeader, toPairs, toSegment } from './parameters.ts';
import { toBody } from './request-body.ts';

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

/** What the operation has no place for could only go where it does not belong. */
function assertKnown(given: Arguments, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw badArgument(unknown, 'is not one of the operation');
}
