import type { FakeMessage, FakeQuestion, FakeRequest } from './fake-request.ts';
import type { FakeSpeech } from './fake-script.ts';

/** The wire shape of one model API. */
export interface FakeApi {
  /** What follows the origin in the base URL that a client is given. */
  readonly basePath: string;
  /** The key a request carries. */
  readKey(headers: FakeRequest['headers']): string | undefined;
  /** `undefined` when the path is none of this API's. */
  readQuestion(path: string, body: Readonly<Record<string, unknown>>): FakeQuestion | undefined;
  writeBody(speech: FakeSpeech, model: string): unknown;
  writeStream(speech: FakeSpeech, model: string): FakeStream;
  writeError(status: number, message: string): unknown;
}

export interface FakeStream {
  readonly said: readonly FakeSseEvent[];
  /** What marks the end of a whole answer. */
  readonly ending: readonly FakeSseEvent[];
}

export interface FakeSseEvent {
  readonly event?: string;
  /** A string goes out as it is, everything else as JSON. */
  readonly data: unknown;
}

/** A text as it would come in fragments, characters whole. */
export function fragments(text: string, size = 4): string[] {
  const characters = Array.from(text);
  const count = Math.ceil(characters.length / size);
  return Array.from({ length: count }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(''),
  );
}

/** Neighbouring messages of one role as one. */
export function gather(messages: readonly FakeMessage[]): FakeMessage[] {
  const gathered: FakeMessage[] = [];
  for (const message of messages) {
    const last = gathered.at(-1);
    if (last?.role !== message.role) gathered.push(message);
    else gathered[gathered.length - 1] = { ...last, parts: [...last.parts, ...message.parts] };
  }
  return gathered;
}

export function bearer(headers: FakeRequest['headers']): string | undefined {
  const { authorization } = headers;
  return typeof authorization === 'string' ? authorization.replace(/^Bearer /i, '') : undefined;
}

/** For what an API has no words for: a script that asks for it is wrong. */
export function cannotSay(api: string, part: object): Error {
  return new Error(`${api} has no words for ${Object.keys(part).join(', ')}: change the script`);
}
