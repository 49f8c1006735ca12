// The agent every adapter is tested against. Each protocol's test wraps it in a real server of that
// protocol; what it does is chosen by the first word of the task.

import { FabricError } from '../errors.ts';
import type { EventBody } from '../events.ts';

export interface ContractRequest {
  readonly task: string;
  /** What the agent saw of trace, depth and chain, however they travelled. */
  readonly seen: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
}

export class ContractAgent {
  #cancelled = 0;
  readonly #countCancelled = () => {
    this.#cancelled += 1;
  };

  /** Works on one request; throws a FabricError when the task says so. */
  async *work({ task, seen, signal }: ContractRequest): AsyncIterable<EventBody> {
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
      case 'fail':
        throw new FabricError('UPSTREAM_ERROR', 'The agent failed as it was asked to');
      case 'hang':
        signal.addEventListener('abort', this.#countCancelled, { once: true });
        yield { type: 'token', data: { text: 'hanging' } };
        await aborted(signal);
        throw signal.reason;
      case 'cancelled':
        return yield final(String(this.#cancelled));
      default:
        throw new FabricError('BAD_INPUT', `The contract agent does not know "${verb}"`);
    }
  }
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
