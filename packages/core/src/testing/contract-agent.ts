// The agent every adapter is tested against. Each protocol's test wraps it in a real server of that
// protocol; what it does is chosen by the first word of the task.

import { FabricError } from '../errors.ts';
import type { EventBody } from '../events.ts';
import type { InputRequest, InputResponse } from '../questions.ts';

export interface ContractRequest {
  readonly task: string;
  /** What the agent saw of trace, depth and chain, however they travelled. */
  readonly seen: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  /** Names the conversation, in protocols that keep one. */
  readonly conversation?: string | undefined;
  /** Asks the caller; protocols that have no questions leave it out. */
  readonly ask?: (requests: readonly InputRequest[]) => Promise<readonly InputResponse[]>;
}

export class ContractAgent {
  #cancelled = 0;
  #hanging = 0;
  #started = 0;
  readonly #released = Promise.withResolvers<void>();
  readonly #remembered = new Map<string | undefined, string>();
  readonly #countCancelled = () => {
    this.#cancelled += 1;
  };

  /** Works on one request; throws a FabricError when the task says so. */
  async *work({
    task,
    seen,
    signal,
    conversation,
    ask,
  }: ContractRequest): AsyncIterable<EventBody> {
    const [verb, ...words] = task.split(' ');
    const text = words.join(' ');
    switch (verb) {
      case 'echo':
        return yield final(text);
      case 'stream':
        for (const word of words) yield { type: 'token', data: { text: word } };
        return yield final(words.join(''));
      case 'progress':
        yield { type: 'progress', data: { percent: 50, message: 'half way' } };
        return yield final('done');
      case 'tools': {
        const call = { id: 'call-1', name: 'search', args: { query: text } };
        yield { type: 'tool_call', data: { ...call, phase: 'start' } };
        yield { type: 'tool_call', data: { ...call, phase: 'end', result: 'found' } };
        return yield final('found');
      }
      case 'data':
        return yield { type: 'final', data: { answer: text, data: { words } } };
      case 'seen':
        return yield { type: 'final', data: { answer: 'seen', data: { ...seen } } };
      case 'big':
        return yield final('x'.repeat(Number(text)));
      case 'ask': {
        const responses = (await ask?.(words.map(toQuestion))) ?? [];
        return yield final(responses.map(toText).join(' '));
      }
      case 'say-and-ask': {
        yield { type: 'token', data: { text: 'before' } };
        const responses = (await ask?.(words.map(toQuestion))) ?? [];
        return yield final(responses.map(toText).join(' '));
      }
      case 'artifact': {
        const piece = { id: 'report', name: 'report.txt', media_type: 'text/plain' };
        yield { type: 'artifact', data: { ...piece, text: 'one ' } };
        yield { type: 'artifact', data: { ...piece, text: 'two', append: true, last: true } };
        return yield final('written');
      }
      case 'fail':
        throw new FabricError('UPSTREAM_ERROR', 'The agent failed as it was asked to');
      case 'hang':
        signal.addEventListener('abort', this.#countCancelled, { once: true });
        this.#hanging += 1;
        yield { type: 'token', data: { text: 'hanging' } };
        await aborted(signal);
        throw signal.reason;
      case 'hanging':
        return yield final(String(this.#hanging));
      case 'remember':
        this.#remembered.set(conversation, text);
        return yield final('remembered');
      case 'recall':
        return yield final(this.#remembered.get(conversation) ?? 'nothing');
      case 'slow':
        this.#started += 1;
        signal.addEventListener('abort', this.#countCancelled, { once: true });
        yield { type: 'token', data: { text: 'slow' } };
        await this.#released.promise;
        return yield final(`started ${this.#started}`);
      case 'release':
        this.#released.resolve();
        return yield final('released');
      case 'cancelled':
        return yield final(String(this.#cancelled));
      default:
        throw new FabricError('BAD_INPUT', `The contract agent does not know "${verb}"`);
    }
  }
}

function toQuestion(name: string): InputRequest {
  const schema = { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] };
  return { id: name, kind: 'form', message: `What is your ${name}?`, schema };
}

function toText({ action, content }: InputResponse): string {
  return action === 'accept' ? Object.values(content as object).join(',') : action;
}

function final(answer: string): EventBody {
  return { type: 'final', data: { answer } };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
