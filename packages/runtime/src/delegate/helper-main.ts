// The program of a helper in a process of its own; `helper-process.ts` starts it and says what goes over its
// input and output. It has the loop and the model, and nothing else.

import { setTimeout as delay } from 'node:timers/promises';
import { Secret } from '@starloom/config';
import { FabricError, silentLog, systemClock } from '@starloom/core';
import type { ITool, ResponseMetadata, Usage } from '@starloom/sdk';
import { readNdjson, writeNdjson } from '@starloom/wire';
import { DEFAULT_RETRY } from '../core/ask-model.ts';
import { runTurn } from '../core/loop.ts';
import type { ToolOutcome } from '../core/seams.ts';
import { AgentSession } from '../core/session.ts';
import { inWords } from '../providers/in-words.ts';
import { openProvider, type ProviderConfig } from '../providers/index.ts';
import { createLabeller } from '../trust/labels.ts';
import type { AnsweredCall, FromProcess, ProcessTask } from './helper-process.ts';

const MAX_LINE_BYTES = 33_554_432;

let steps = 0;
let calls = 0;
const lines = readNdjson(process.stdin, { maxLineBytes: MAX_LINE_BYTES });
const waiting = new Map<number, (outcome: ToolOutcome) => void>();
const send = (message: FromProcess) => writeNdjson(process.stdout, message);

try {
  const { value } = await lines.next();
  void readAnswers();
  await send({ done: await work(value as ProcessTask) });
  process.exitCode = 0;
} catch (thrown) {
  const { code, message, details } = FabricError.from(thrown);
  await send({ ok: false, error: { code, message, details } });
}
process.exit();

async function work(task: ProcessTask) {
  const { request, trace, hop, limits, system, folder } = task;
  const key = task.key === undefined ? {} : { api_key: new Secret('env:KEY', task.key) };
  const config = { ...task.provider, ...key } as ProviderConfig;
  const provider = await openProvider(config, { folder, log: silentLog, env: {} });
  const named = task.tools.map((tool): ITool => ({ ...tool, execute: () => '' }));
  const tools = new Map(named.map((tool) => [tool.name, tool]));
  const turn = {
    session: new AgentSession('helper'),
    ...{ request, trace, hop },
    signal: new AbortController().signal,
    emit: () => {},
    budget: {
      openStep: () => {
        steps += 1;
        void send({ step: steps });
      },
      spend: (metadata: ResponseMetadata, estimate: Usage) =>
        void send({ spent: { metadata, estimate } }),
    },
  };
  try {
    return await runTurn(turn, {
      ...{ limits, system },
      provider: inWords(provider),
      registry: { tools },
      offered: { offer: () => tools },
      toolPath: {
        call: async ({ call }) => {
          const { promise, resolve } = Promise.withResolvers<ToolOutcome>();
          calls += 1;
          waiting.set(calls, resolve);
          await send({ ref: calls, call });
          return promise;
        },
      },
      labeller: createLabeller(),
      retry: DEFAULT_RETRY,
      wait: (ms, signal) => delay(ms, undefined, { signal }),
      clock: systemClock,
      log: silentLog,
    });
  } finally {
    await provider.close();
  }
}

/** When the input ends, the caller is gone. */
async function readAnswers(): Promise<void> {
  for await (const line of lines) {
    const { ref, result, block } = line as AnsweredCall;
    const error = result.isError ? { error: new FabricError('UPSTREAM_ERROR', 'it failed') } : {};
    waiting.get(ref)?.({ result, block, ...error });
    waiting.delete(ref);
  }
  process.exit(1);
}
