import type { ContentSegment } from '@starloom/sdk';
import type { PromptMessage, PromptResult } from './to-messages.ts';

type Assistant = Extract<PromptMessage, { role: 'assistant' }>;

/**
 * Every call with its result right behind it, in the order of the calls. A call without one gets an
 * error that says so; a result without a call (a slash command's, or one whose call was folded away)
 * becomes a message of its own. Ids are matched up to the next assistant message only: some models
 * give the same ids again in every answer.
 */
export function pairResults(messages: readonly PromptMessage[]): PromptMessage[] {
  const turns = toTurns(messages);
  return turns.flatMap(({ assistant, rest }) => {
    const results = rest.flatMap((message) => (message.role === 'tool' ? message.results : []));
    const calls = assistant === undefined ? [] : callsOf(assistant);
    const paired = calls.map((call) => results.find(({ id }) => id === call.id) ?? lost(call));
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

function lost({ id, name }: Call): PromptResult {
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
