// A message as something to do: a turn of the agent itself, or a call of one of its exposed tools.

import type { Message } from '@a2a-js/sdk';
import { META_CAPABILITY, META_SKILL } from '@starloom/a2a';
import { assertModes, attachmentsOf, dataOf, textOf } from '@starloom/a2a/tasks';
import { type Attachment, argumentsFromTask, type Fields, isObject } from '@starloom/core';
import type { ContentSegment } from '@starloom/sdk';
import { ASK, type ExposedTool, type ExposedTools } from '../core/exposed-tools.ts';
import { toMediaSegment } from '../core/media.ts';
import { failure } from '../reasons.ts';
import { modesOf } from './card.ts';

export type AskedTask =
  | { readonly kind: 'turn'; readonly segments: readonly ContentSegment[] }
  | { readonly kind: 'call'; readonly args: Fields };

const MAX_SHOWN_NAME = 100;

/**
 * Which of the exposed tools a message is for: the one it names, in its metadata or in a data part
 * `{skill, arguments}`; else the one that the context began with, the agent itself, or the only one.
 */
export function readTask(
  message: Message,
  metadata: Fields,
  tools: ExposedTools,
  before: string | undefined,
): { readonly tool: ExposedTool; readonly asked: AskedTask } {
  const data = dataOf(message) ?? {};
  const { skill, arguments: args = {}, ...others } = data;
  const isNamed = typeof skill === 'string' && Object.keys(others).length === 0;
  const given = isNamed ? args : data;
  if (!isObject(given)) throw failure('arguments/skill');
  const name = metadata[META_CAPABILITY] ?? metadata[META_SKILL] ?? (isNamed ? skill : undefined);
  const tool = choose(name, tools, before);
  assertModes(message, modesOf(tool));
  const text = textOf(message);
  if (tool.name !== ASK.name) {
    return { tool, asked: { kind: 'call', args: withText(given, text, tool) } };
  }
  const words = typeof given.prompt === 'string' ? given.prompt : text;
  const segments = toSegments(words, others, attachmentsOf(message));
  if (segments.length === 0) throw failure('empty_message');
  return { tool, asked: { kind: 'turn', segments } };
}

function choose(name: unknown, tools: ExposedTools, before: string | undefined): ExposedTool {
  const listed = tools.list();
  const usual = (before ?? listed.find((tool) => tool.name === ASK.name)?.name) || listed[0]?.name;
  const isClear = name !== undefined || before !== undefined || listed.length === 1;
  const meant = isClear || usual === ASK.name ? (name ?? usual) : undefined;
  const found = typeof meant === 'string' ? tools.find(meant) : undefined;
  if (found) return found;
  throw failure('unknown_skill', {
    skill: String(meant ?? '').slice(0, MAX_SHOWN_NAME),
    skills: listed.map(({ listedName }) => listedName),
  });
}

/** The text takes the place that it would have without data, unless the data has it already. */
function withText(given: Fields, text: string, { parameters }: ExposedTool): Fields {
  if (text === '') return given;
  return { ...argumentsFromTask({ task: text, context: {} }, parameters), ...given };
}

/** Data and documents are words for the model; what it can see or hear stays as it is. */
function toSegments(
  text: string,
  data: Fields,
  files: readonly Attachment[],
): readonly ContentSegment[] {
  const words = (one: string): ContentSegment[] =>
    one.trim() === '' ? [] : [{ type: 'text', text: one }];
  const { prompt: _, ...rest } = data;
  return [
    ...words(text),
    ...(Object.keys(rest).length === 0 ? [] : words(JSON.stringify(rest))),
    ...files.flatMap(({ name = 'file', media_type, data: bytes, uri }) => {
      if (bytes === undefined) return words(`${name} (${media_type}): ${uri}`);
      const media = toMediaSegment(media_type, bytes);
      return media ?? words(`${name}:\n${Buffer.from(bytes, 'base64').toString('utf8')}`);
    }),
  ];
}
