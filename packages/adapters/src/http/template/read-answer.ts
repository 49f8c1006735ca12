// Documents and events of an agent, by the pointers and rules of its manifest.

import { isDeepStrictEqual } from 'node:util';
import { type EventBody, exceedsDepth, type FabricError, toFields } from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import { failure } from '../../reasons.ts';
import { readEvent } from '../../upstream/read-event.ts';
import { toUpstreamError } from '../../upstream/reported-error.ts';
import { pointTo } from '../json-pointer.ts';
import type { AnswerTemplate, EventRule } from './options.ts';
import { fillFromAgent } from './placeholders.ts';

/** The final that a document is; throws the error in it. */
export function toFinal(
  document: unknown,
  { text, data, citations, error }: AnswerTemplate = {},
  excerpt: Excerpt,
): EventBody {
  const reported = error === undefined ? undefined : pointTo(document, error);
  if (reported !== undefined && reported !== null && reported !== false) {
    throw agentFailure(reported, excerpt);
  }
  const answer = text === undefined ? '' : pointTo(document, text);
  if (answer === undefined || answer === null)
    throw failure('bad_result/pointer', {
      pointer: text ?? '',
      fix: 'correct answer.text of its manifest',
    });
  const isPlain = text === undefined && data === undefined;
  return readEvent('final', {
    answer: isPlain ? toAnswer(document) : toAnswer(answer),
    data: isPlain
      ? dataOf(document)
      : data === undefined
        ? null
        : (pointTo(document, data) ?? null),
    citations: citations === undefined ? null : pointTo(document, citations),
  });
}

/** What an event of a stream amounts to; `undefined` where no rule is for it. */
export function fromEvent(
  { value, event }: { readonly value: unknown; readonly event?: string },
  rules: readonly EventRule[],
  excerpt: Excerpt,
): EventBody | undefined {
  const rule = rules.find(
    (each) => (each.event === undefined || each.event === event) && meets(value, each.where),
  );
  if (rule === undefined || rule.emit === 'nothing') return undefined;
  const data = fillFromAgent(rule.data, value);
  if (rule.emit === 'error')
    throw agentFailure(Object.keys(toFields(data)).length === 0 ? value : data, excerpt);
  return readEvent(rule.emit, data);
}

/** The failure that the agent itself reported: a text, or an object with code and message. */
export function agentFailure(reported: unknown, excerpt: Excerpt): FabricError {
  const { code, type, message } = toFields(reported);
  const said = typeof message === 'string' ? message : toAnswer(reported);
  const upstream = toUpstreamError({ code: code ?? type, message: said }, excerpt);
  return failure('tool_error', { upstream });
}

/** A text as it is, anything else as JSON. */
function toAnswer(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || exceedsDepth(value) ? '' : JSON.stringify(value);
}

function dataOf(document: unknown): unknown {
  return typeof document === 'string' ? null : (document ?? null);
}

function meets(value: unknown, where: EventRule['where']): boolean {
  return Object.entries(where).every(([pointer, wanted]) => {
    return isDeepStrictEqual(pointTo(value, pointer), wanted);
  });
}
