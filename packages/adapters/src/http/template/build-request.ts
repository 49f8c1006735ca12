import { callerContext } from '@starloom/core';
import { encodePairs, encodeSegment, toHeaderValue, withPairs } from '../encode-value.ts';
import type { HttpRequest } from '../http-client.ts';
import type { ProfileCall } from '../profile.ts';
import type { Target } from '../target.ts';
import type { RequestTemplate } from './options.ts';
import { fill, isPlace, type Place, type Sources, valueFor } from './placeholders.ts';

/** The request of a template; BAD_INPUT when a value has no place in it, and nothing is sent. */
export function buildRequest(
  { method, path, query, headers, body }: RequestTemplate,
  target: Target,
  sources: Sources,
): HttpRequest {
  const pairs = fillAll(query, sources).flatMap(([name, value]) => encodePairs(name, value));
  const values = fillAll(headers, sources).map(([name, value]) => {
    return [name.toLowerCase(), toHeaderValue(value, name)] as const;
  });
  return {
    method,
    path: withPairs(path === undefined ? target.path : target.pathOf(toPath(path, sources)), pairs),
    headers: Object.fromEntries(values),
    ...(body !== undefined && { body: fill(body, sources) ?? null }),
  };
}

function toPath(path: string | readonly (Place | string)[], sources: Sources): string {
  if (typeof path === 'string') return path;
  const segments = path.map((segment) => {
    if (!isPlace(segment)) return segment;
    return encodeSegment(valueFor({ ...segment, $required: true }, sources), segment.$from);
  });
  return `/${segments.join('/')}`;
}

function fillAll(values: RequestTemplate['query'], sources: Sources): [string, unknown][] {
  return Object.entries(values).flatMap(([name, given]): [string, unknown][] => {
    const value = isPlace(given) ? valueFor(given, sources) : given;
    return value === undefined ? [] : [[name, value]];
  });
}

/** What the places of a manifest may point to. */
export function toSources({ envelope, context }: ProfileCall): Sources {
  const { input, target, trace, response, session_id, idempotency_key } = envelope;
  return {
    task: input.task,
    arguments: input.arguments ?? {},
    context: callerContext(input.context),
    attachments: input.attachments,
    agent_id: target.agent_id,
    capability: target.capability,
    timeout_ms: target.timeout_ms,
    trace,
    stream: response.stream,
    format: response.format,
    session_id,
    idempotency_key,
    conversation: context.handle ?? {},
  };
}
