// What a model is shown, for every API alike: the blocks of a context as messages. Two things hold
// whatever the blocks are. Untrusted words are marked as data and never stand among instructions.
// Every call of the assistant is followed by its result, and no result stands alone: services refuse
// anything else, and a session that was cut off has both.

import { FabricError } from '@starloom/core';
import type { Block, IAgentContext } from '@starloom/sdk';
import { pairResults } from './pair-results.ts';
import { type PromptMessage, toMessages } from './to-messages.ts';
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
