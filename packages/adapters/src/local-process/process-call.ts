import { FabricError, type Log } from '@starloom/core';
import type { Excerpt } from '@starloom/wire';
import type { CallNames } from '../upstream/assert-callable.ts';
import { CallEvents } from '../upstream/call-events.ts';
import { assertOutputFits } from '../upstream/output-limit.ts';
import { readEvent } from '../upstream/read-event.ts';
import { reportedError } from '../upstream/reported-error.ts';
import type { AgentLine } from './translate.ts';

export interface ProcessCallOptions {
  readonly spanId: string;
  readonly names: CallNames;
  readonly maxBytes: number;
  readonly excerpt: Excerpt;
  readonly log: Log;
}

/** One call at a process: turns the lines that belong to it into its events. */
export class ProcessCall {
  readonly spanId: string;
  readonly events = new CallEvents();
  readonly #options: ProcessCallOptions;
  #bytes = 0;

  constructor(options: ProcessCallOptions) {
    this.spanId = options.spanId;
    this.#options = options;
  }

  take(line: AgentLine, bytes: number): void {
    this.#bytes += bytes;
    try {
      assertOutputFits(this.#bytes, this.#options.maxBytes);
      if (line.type === 'error') throw reportedError(line.error, this.#options.excerpt);
      const body = readEvent(line.type, line.data);
      if (body !== undefined) this.events.push(body, bytes);
      else this.#passOver(line.type);
    } catch (error) {
      this.fail(FabricError.from(error));
    }
  }

  fail(error: FabricError): void {
    this.events.fail(error.with(this.#options.names));
  }

  #passOver(type: string): void {
    const { excerpt, log } = this.#options;
    log.debug({ type: excerpt(type) }, 'an event of the agent is passed over');
  }
}
