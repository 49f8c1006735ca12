// What a model is shown, for every API alike: the blocks of a context as messages. Two things hold
// whatever the blocks are. Untrusted words are marked as data and never stand among instructions.
// Every call of the assistant is followed by its result, and no result stands alone: services refuse
// anything else, and a session that was cut off has both.

import { FabricError } from '@starloom/core';
import type { Block, ContentSegment, IAgentContext } from '@starloom/sdk';
import { type PromptMessage, type PromptResult, toMessages } from './to-messages.ts';
import { UNTRUSTED_NOTICE } from './untrusted.ts';

export interface Prompt {
  /** Empty when there is none. */
  readonly system: string;
  readonly messages: readonly PromptMessage[];
}

/** `prompt` is what the user says now; empty when the blocks end with what is to be answered. */
export function toPrompt(prompt: string, context: IAgentContext): Prompt {
  const blocks = context.blocks ?? [];
  const opening = blocks.findIndex((block) => !isInstruction(block));
  const instructions = opening === -1 ? blocks : blocks.slice(0, opening);
  const conversation = opening === -1 ? [] : blocks.slice(opening);
  const messages = pairResults(conversation.flatMap(toMessages));
  if (prompt !== '') messages.push({ role: 'user', segments: [{ type: 'text', text: prompt }] });
  if (messages.length === 0) throw nothingToAsk();
  return { system: toSystem(context, instructions), messages: joinUsers(messages) };
}

function isInstruction({ role, trust, type }: Block): boolean {
  return role === 'system' && trust !== 'untrusted' && type === 'instruction';
}

function toSystem(context: IAgentContext, instructions: readonly Block[]): string {
  const isExposed =
    context.tools.size > 0 || (context.blocks ?? []).some(({ trust }) => trust === 'untrusted');
  const texts = instructions.flatMap(({ segments }) => segments.map(({ text = '' }) => text));
  return [context.systemPrompt ?? '', ...texts, isExposed ? UNTRUSTED_NOTICE : '']
    .filter((text) => text !== '')
    .join('\n\n');
}

/** Some templates of local models refuse two messages of one role in a row. */
function joinUsers(messages: readonly PromptMessage[]): PromptMessage[] {
  const joined: PromptMessage[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (message.role !== 'user' || last?.role !== 'user') joined.push(message);
    else joined.splice(-1, 1, { ...last, segments: [...last.segments, ...message.segments] });
  }
  return joined;
}

function nothingToAsk(): FabricError {
  return new FabricError('BAD_INPUT', 'There is nothing to ask the model', {
    details: { reason: 'empty_prompt', fix: 'pass a prompt, or blocks of a conversation' },
  });
}

type Assistant = Extract<PromptMessage, { role: 'assistant' }>;

/**
 * Every call with its result right behind it, in the order of the calls. A call without one gets an
 * error that says so; a result without a call (a slash command's, or one whose call was folded away)
 * becomes a message of its own. Ids are matched up to the next assistant message only: some models
 * give the same ids again in every answer.
 */
function pairResults(messages: readonly PromptMessage[]): PromptMessage[] {
  const turns = toTurns(messages);
  return turns.flatMap(({ assistant, rest }) => {
    const results = rest.flatMap((message) => (message.role === 'tool' ? message.results : []));
    const calls = assistant === undefined ? [] : callsOf(assistant);
    const paired = calls.map(
      (call) => results.find(({ id }) => id === call.id) ?? missingResult(call),
    );
    return [
      ...(assistant === undefined ? [] : [assistant]),
      ...(paired.length > 0 ? [{ role: 'tool' as const, results: paired }] : []),
      ...mediaOf(paired),
      ...rest.flatMap((message) => withoutPaired(message, new Set(paired))),
    ];
  });
}

/** An assistant message with all that follows it up to the next one. */
interface Turn {
  readonly assistant?: Assistant;
  readonly rest: PromptMessage[];
}

function toTurns(messages: readonly PromptMessage[]): Turn[] {
  const turns: Turn[] = [{ rest: [] }];
  for (const message of messages) {
    if (message.role === 'assistant') turns.push({ assistant: message, rest: [] });
    else turns.at(-1)?.rest.push(message);
  }
  return turns;
}

interface Call {
  readonly id: string;
  readonly name: string;
}

function callsOf({ segments }: Assistant): Call[] {
  return segments.flatMap(({ toolCall }) =>
    toolCall === undefined ? [] : [{ id: toolCall.id ?? '', name: toolCall.name }],
  );
}

function missingResult({ id, name }: Call): PromptResult {
  return { id, name, text: 'No result: the call was cut off', isError: true, media: [] };
}

function mediaOf(results: readonly PromptResult[]): PromptMessage[] {
  const segments = results.flatMap(({ name, media }): ContentSegment[] =>
    media.length === 0 ? [] : [{ type: 'text', text: `From the result of ${name}:` }, ...media],
  );
  return segments.length === 0 ? [] : [{ role: 'user', segments }];
}

function withoutPaired(message: PromptMessage, paired: ReadonlySet<PromptResult>): PromptMessage[] {
  if (message.role !== 'tool') return [message];
  return message.results
    .filter((result) => !paired.has(result))
    .map(({ name, text, media }) => ({
      role: 'user',
      segments: [{ type: 'text', text: `The result of ${name}:\n${text}` }, ...media],
    }));
}
