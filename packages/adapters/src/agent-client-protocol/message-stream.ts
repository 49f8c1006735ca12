// The lines of an agent as the messages of the SDK's connection, and back. What the SDK must not see
// stays here: lines that are no JSON-RPC, answers to requests never made, floods. Updates of sessions
// are handed over before the next line is looked at, so that none is overtaken by the answer to its
// prompt, and while their call has no room nothing more is read.

import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import { FabricError, type Fields, type Log, toFields, tryParseJson } from '@starloom/core';
import { assertJsonLimits, type Excerpt, type ManagedProcess } from '@starloom/wire';
import { z } from 'zod';
import { failure } from '../reasons.ts';

interface MessageStreamOptions {
  readonly child: ManagedProcess;
  /** Takes a `session/update`; resolves when more may come. */
  readonly onUpdate: (params: unknown, bytes: number) => Promise<void>;
  readonly excerpt: Excerpt;
  readonly log: Log;
}

/** Many programs greet on stdout before they speak the protocol; few do so at length. */
const MAX_STRAY_BYTES = 1_048_576;
const MAX_OPEN_REQUESTS = 256;

export function openMessageStream(options: MessageStreamOptions): Stream {
  const filter = new MessageFilter(options);
  const { child, excerpt } = options;
  const lines = child.lines();
  const readable = new ReadableStream<AnyMessage>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { value: line, done } = await lines.next();
            if (done) throw failure('process_ended', { upstream: await child.lastWords(excerpt) });
            const message = await filter.take(line);
            if (message) return controller.enqueue(message);
          }
        } catch (error) {
          controller.error(FabricError.from(error));
        }
      },
      cancel: () => void lines.return(),
    },
    { highWaterMark: 0 },
  );
  const writable = new WritableStream<AnyMessage>({
    write(message) {
      filter.noteSent(message);
      child.write(`${JSON.stringify(message)}\n`).catch((err: unknown) => {
        options.log.debug({ err }, 'the agent does not read its input');
      });
    },
  });
  return { readable, writable };
}

class MessageFilter {
  readonly #options: MessageStreamOptions;
  /** Requests of ours that the agent has to answer. */
  readonly #asked = new Set<unknown>();
  /** Requests of the agent that we have to answer. */
  #open = 0;
  #strayBytes = 0;

  constructor(options: MessageStreamOptions) {
    this.#options = options;
  }

  noteSent(message: AnyMessage): void {
    if (!('id' in message)) return;
    if ('method' in message) this.#asked.add(message.id);
    else this.#open -= 1;
  }

  /** The message for the SDK, when the line is one. */
  async take(line: string): Promise<AnyMessage | undefined> {
    if (line.trim() === '') return undefined;
    assertJsonLimits(line);
    const message = toFields(tryParseJson(line));
    if (message.jsonrpc !== '2.0') return this.#passOver(line);
    this.#strayBytes = 0;
    if (typeof message.method !== 'string') return this.#answer(message);
    if ('id' in message) return this.#request(message);
    if (message.method !== 'session/update') return message as unknown as AnyMessage;
    await this.#options.onUpdate(message.params, Buffer.byteLength(line));
    return undefined;
  }

  #answer(message: Fields): AnyMessage | undefined {
    if (this.#asked.delete(message.id)) return message as unknown as AnyMessage;
    this.#options.log.debug({}, 'the agent answered a request that is not open');
    return undefined;
  }

  #request(message: Fields): AnyMessage {
    this.#open += 1;
    if (this.#open <= MAX_OPEN_REQUESTS) return message as unknown as AnyMessage;
    throw failure('too_many_requests', { limit: MAX_OPEN_REQUESTS });
  }

  #passOver(line: string): undefined {
    const { log, excerpt } = this.#options;
    this.#strayBytes += Buffer.byteLength(line) + 1;
    log.debug({ line: excerpt(line.slice(0, 200)) }, 'agent wrote something else to stdout');
    if (this.#strayBytes <= MAX_STRAY_BYTES) return;
    throw failure('invalid_json/line');
  }
}

const SHAPES = {
  initialized: z.looseObject({ protocolVersion: z.number() }),
  session: z.looseObject({ sessionId: z.string().min(1).max(1_024) }),
  prompted: z.looseObject({ stopReason: z.string() }),
};

/** Answers of the agent that a call depends on. The SDK passes them on as they came. */
export function assertShape<Answer>(name: keyof typeof SHAPES, answer: Answer): Answer {
  const { success, error: cause } = SHAPES[name].safeParse(answer);
  if (success) return answer;
  throw failure('bad_answer', {}, { cause });
}
