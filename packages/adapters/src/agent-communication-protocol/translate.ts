// The events of one run as ours. Texts are taken from `message.part` alone: servers repeat them in
// `message.created` and `message.completed`. Named parts are artifacts. The end of a run brings its
// whole output, and that is the answer, whatever parts came before.

import { type Citation, type EventBody, type FabricError, toFields } from '@starloom/core';
import { cleanText, type Excerpt } from '@starloom/wire';
import { failure } from '../reasons.ts';
import { parseOrText, readEvent } from '../upstream/read-event.ts';
import { toUpstreamError } from '../upstream/reported-error.ts';
import type { Message, Part, ProtocolError, Run, RunEvent } from './protocol.ts';

const MAX_SAID = 16_384;

type Metadata = NonNullable<Part['metadata']>;

interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

export class RunTranslator {
  readonly #excerpt: Excerpt;
  /** Of parts that came one by one; used when the end brings no output. */
  readonly #parts: Part[] = [];
  /** By tool name; trajectories carry no ids. */
  readonly #openCalls = new Map<string, OpenCall>();
  /** Names of the artifacts in the current message. */
  readonly #artifacts = new Set<string>();
  #calls = 0;
  #unnamed = 0;

  constructor(excerpt: Excerpt) {
    this.#excerpt = excerpt;
  }

  /** Translates an event; those about the run itself are left to the caller. */
  *fromEvent(event: RunEvent): Generator<EventBody, void, undefined> {
    switch (event.type) {
      case 'message':
        this.#artifacts.clear();
        return;
      case 'part':
        this.#parts.push(event.part);
        return yield* this.#fromPart(event.part);
      case 'generic':
        return yield toProgress(event.generic);
      case 'error':
        throw serverFailure(event.error, this.#excerpt);
      default:
        return;
    }
  }

  /** The last events of a run that is over; throws unless it completed. */
  *ending(run: Run): Generator<EventBody, void, undefined> {
    const { status, error } = run;
    if (status === 'failed') {
      throw failure('tool_error/run', { upstream: toUpstreamError(error ?? {}, this.#excerpt) });
    }
    if (status !== 'completed') throw failure('tool_error/cancelled', { upstream: { status } });
    const output = run.output ?? [{ parts: this.#parts }];
    const parts = output.flatMap((message) => message.parts);
    if (this.#parts.length === 0) {
      for (const message of output) {
        this.#artifacts.clear();
        for (const part of message.parts) yield* this.#exceptText(part);
      }
    }
    const documents = parts.filter(isDocument).map(({ content }) => parseOrText(content ?? ''));
    const citations = parts.flatMap(({ metadata }) => toCitation(metadata));
    yield readEvent('final', {
      answer: output.map(textOf).filter(Boolean).join('\n'),
      ...(documents.length > 0 && { data: documents.length === 1 ? documents[0] : documents }),
      ...(citations.length > 0 && { citations }),
    });
  }

  *#fromPart(part: Part): Generator<EventBody, void, undefined> {
    yield* this.#exceptText(part);
    if (isText(part) && textIn(part) !== '') yield { type: 'token', data: { text: textIn(part) } };
  }

  /** The events of a part, except its text. */
  *#exceptText(part: Part): Generator<EventBody, void, undefined> {
    if (part.metadata?.kind === 'trajectory') yield* this.#fromTrajectory(part.metadata);
    if (!isText(part) && !isDocument(part)) yield this.#toArtifact(part);
  }

  *#fromTrajectory(metadata: Metadata): Generator<EventBody, void, undefined> {
    const { message, tool_name: name, tool_input, tool_output: result } = metadata;
    const said = cleanText(message, MAX_SAID);
    if (said) yield { type: 'progress', data: { message: said } };
    if (typeof name !== 'string' || name === '') return;
    const open = this.#openCalls.get(name);
    const call = open ?? this.#begin(name, tool_input ?? {});
    if (open === undefined) yield readEvent('tool_call', { ...call, phase: 'start' });
    if (result === undefined || result === null) return;
    this.#openCalls.delete(name);
    yield readEvent('tool_call', { ...call, phase: 'end', result });
  }

  #begin(name: string, args: unknown): OpenCall {
    this.#calls += 1;
    const call = { id: `call-${this.#calls}`, name, args };
    this.#openCalls.set(name, call);
    return call;
  }

  #toArtifact(part: Part): EventBody {
    const { name, content, content_type, content_url } = part;
    const id = name ? name.slice(0, 256) : this.#nextUnnamed();
    const append = this.#artifacts.has(id);
    this.#artifacts.add(id);
    const isBytes = part.content_encoding === 'base64';
    return readEvent('artifact', {
      id,
      name: name || null,
      media_type: content_type ?? 'text/plain',
      text: isBytes ? null : content,
      data: isBytes ? content : null,
      uri: content_url,
      append: append || null,
    });
  }

  #nextUnnamed(): string {
    this.#unnamed += 1;
    return `part-${this.#unnamed}`;
  }
}

/** An error outside of a run is the server's, not an answer of the agent. */
function serverFailure(error: ProtocolError, excerpt: Excerpt): FabricError {
  const { code } = error;
  const upstream = toUpstreamError(error, excerpt);
  if (code === 'not_found') return failure('not_found', { upstream });
  return failure(code === 'invalid_input' ? 'tool_error' : 'server_error', { upstream });
}

function toProgress(generic: unknown): EventBody {
  const { percent, message, thought } = toFields(generic);
  const said = [message, thought].find((text) => typeof text === 'string');
  const data = {
    percent: typeof percent === 'number' ? percent : null,
    message: cleanText(said ?? JSON.stringify(generic ?? null), MAX_SAID),
  };
  return readEvent('progress', data) ?? { type: 'progress', data: { message: data.message ?? '' } };
}

function toCitation(metadata: Part['metadata']): Citation[] {
  if (metadata?.kind !== 'citation') return [];
  const { url, title, description, start_index, end_index } = metadata;
  const citation = {
    ...(typeof url === 'string' && { uri: url }),
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { text: description }),
    ...(Number.isInteger(start_index) && { start_index }),
    ...(Number.isInteger(end_index) && { end_index }),
  };
  return [citation];
}

function isText({ name, content_type, content_url }: Part): boolean {
  return !name && !content_url && /^text\//i.test(content_type ?? 'text/plain');
}

/** JSON without a name is structured data of the answer. */
function isDocument({ name, content_type, content_url }: Part): boolean {
  return !name && !content_url && /^application\/(.+\+)?json\b/i.test(content_type ?? '');
}

function textOf({ parts }: Message): string {
  return parts.filter(isText).map(textIn).join('');
}

function textIn({ content, content_encoding }: Part): string {
  if (content_encoding !== 'base64') return content ?? '';
  return Buffer.from(content ?? '', 'base64').toString('utf8');
}
