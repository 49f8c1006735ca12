// The synchronous answer is a collected stream: fold the events of a call and read the result.

import { type Artifact, ArtifactFold } from './artifacts.ts';
import type { EventBody, FinalData } from './events.ts';

export interface ToolCallRecord {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly result?: unknown;
}

export interface CallResult extends FinalData {
  readonly tool_calls?: readonly ToolCallRecord[];
  readonly artifacts?: readonly Artifact[];
}

/** One line of the attempt trail. */
export interface Attempt {
  readonly agent_id: string;
  readonly node_id: string;
  readonly ok: boolean;
  readonly code?: string;
  readonly ms: number;
}

/** Collects what the events of one attempt amount to. */
export class ResultFold {
  readonly #toolCalls = new Map<string, ToolCallRecord>();
  #artifacts: ArtifactFold | undefined;
  #text = '';
  #sawQuestion = false;
  #final: FinalData | undefined;

  get sawToolCall(): boolean {
    return this.#toolCalls.size > 0;
  }

  /** Whether the agent asked something: such an attempt is not repeated elsewhere. */
  get sawQuestion(): boolean {
    return this.#sawQuestion;
  }

  get sawToken(): boolean {
    return this.#text !== '';
  }

  add(body: EventBody): void {
    switch (body.type) {
      case 'token':
        this.#text += body.data.text;
        return;
      case 'tool_call': {
        const { id, name, args, phase, result } = body.data;
        const before = this.#toolCalls.get(id);
        const record = { id, name, args: before?.args ?? args };
        this.#toolCalls.set(id, phase === 'end' ? { ...record, result } : record);
        return;
      }
      case 'final':
        this.#final = body.data;
        return;
      case 'status':
        if (body.data.state === 'awaiting_input') this.#sawQuestion = true;
        return;
      case 'artifact':
        this.#artifacts ??= new ArtifactFold();
        this.#artifacts.add(body.data);
        return;
      case 'progress':
        return;
    }
  }

  /** The result once `final` was seen; an empty answer is filled from the tokens. */
  result(): CallResult | undefined {
    if (!this.#final) return undefined;
    const answer = this.#final.answer === '' ? this.#text : this.#final.answer;
    const artifacts = this.#artifacts?.artifacts();
    return {
      ...this.#final,
      answer,
      ...(this.#toolCalls.size > 0 && { tool_calls: [...this.#toolCalls.values()] }),
      ...(artifacts && { artifacts }),
    };
  }
}
