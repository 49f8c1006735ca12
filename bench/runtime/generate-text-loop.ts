// The AI SDK's own loop on its own mock model. It keeps nothing by itself: the messages are kept here,
// and on disk they are appended to one file of lines a session, written before the turn ends.

import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateText, isStepCount, type ModelMessage, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { assertAnswer, type Loop } from './loop.ts';
import type { Work } from './plan.ts';
import { ANSWER, QUESTION, SYSTEM_PROMPT, TOOL } from './script.ts';

export interface GenerateTextLoopOptions {
  readonly work: Work;
  /** Keeps messages there. */
  readonly stateFolder?: string | undefined;
  /** Before the model answers. */
  readonly think?: () => Promise<void>;
}

const MAX_STEPS = 50;

export async function openGenerateTextLoop(options: GenerateTextLoopOptions): Promise<Loop> {
  const { stateFolder } = options;
  const model = createModel(options);
  const { description, parameters: inputSchema, run } = TOOL;
  const tools = {
    [TOOL.name]: tool({ description, inputSchema, execute: async (args) => run(args) }),
  };
  return {
    open() {
      let messages: ModelMessage[] = [];
      const file = stateFolder && join(stateFolder, `${crypto.randomUUID()}.jsonl`);
      return {
        async turn() {
          const asked: ModelMessage = { role: 'user', content: QUESTION };
          const { text, responseMessages } = await generateText({
            model,
            tools,
            instructions: SYSTEM_PROMPT,
            messages: [...messages, asked],
            stopWhen: isStepCount(MAX_STEPS),
          });
          const added = [asked, ...responseMessages];
          messages = [...messages, ...added];
          if (file) await appendFile(file, toLines(added), { mode: 0o600 });
          assertAnswer(text, ANSWER);
        },
      };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

function createModel({ work, think }: GenerateTextLoopOptions): MockLanguageModelV4 {
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      model.doGenerateCalls.length = 0; // It would keep every prompt there ever was.
      await think?.();
      return work === 'tool' && prompt.at(-1)?.role !== 'tool' ? calling() : answering();
    },
  });
  return model;
}

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 20, text: 20, reasoning: undefined },
};

function answering() {
  const content = [{ type: 'text' as const, text: ANSWER }];
  const finishReason = { unified: 'stop' as const, raw: undefined };
  return { content, finishReason, usage: USAGE, warnings: [] };
}

function calling() {
  const call = {
    type: 'tool-call' as const,
    toolCallId: crypto.randomUUID(),
    toolName: TOOL.name,
    input: JSON.stringify(TOOL.args),
  };
  const finishReason = { unified: 'tool-calls' as const, raw: undefined };
  return { content: [call], finishReason, usage: USAGE, warnings: [] };
}

function toLines(messages: readonly ModelMessage[]): string {
  return messages.map((message) => `${JSON.stringify(message)}\n`).join('');
}
