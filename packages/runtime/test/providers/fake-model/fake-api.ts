import type {
  FakeAnswer,
  FakeCall,
  FakeFinish,
  FakeMessage,
  FakePart,
  FakeRequest,
  FakeTool,
  FakeUsage,
} from '@starloom/sdk/testing';

/** The wire shape of one model API. */
export interface FakeApi {
  /** What follows the origin in the base URL that a client is given. */
  readonly basePath: string;
  /** Where it is served. A model and a method that stand in the path are groups of these names. */
  readonly path: RegExp;
  /** Where it keeps parts of questions under an id, which a question then has as `stored.field`. */
  readonly stored?: { readonly path: RegExp; readonly field: string };
  /** The header with the key; `Bearer` before the key does not count. */
  readonly keyHeader: string;
  readQuestion(body: Json): RawQuestion;
  writeBody(speech: FakeSpeech, model: string): unknown;
  writeStream(speech: FakeSpeech, model: string): FakeStream;
  writeError(status: number, message: string): unknown;
}

/** As the wire has it; what all APIs have in common is read elsewhere. */
interface RawQuestion {
  readonly system: readonly unknown[];
  readonly messages: readonly FakeMessage[];
  readonly tools: readonly Record<keyof FakeTool, unknown>[];
}

interface FakeStream {
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

/** For what an API has no words for: a script that asks for it is wrong. */
export function cannotSay(api: string, part: object): Error {
  return new Error(`${api} has no words for ${Object.keys(part).join(', ')}: change the script`);
}

/** A request with what its API has beside the words. */
export interface ServedRequest extends FakeRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly model: string;
  readonly stream: boolean;
}

/** A part of questions that a client keeps at the service, renews or deletes. */
export interface FakeStoreRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Json;
}

export type Json = Readonly<Record<string, unknown>>;

/** The value as an object; an empty one when it is none. */
export function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : {};
}

/** The value as a list of objects; an empty one when it is none. */
export function records(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(record) : [];
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** `{ key: value }`, or nothing when there is no such string. */
export function optional<Key extends string>(key: Key, value: unknown): { [K in Key]?: string } {
  return typeof value === 'string' ? ({ [key]: value } as { [K in Key]: string }) : {};
}

export function parseJson(json: unknown): unknown {
  try {
    return JSON.parse(text(json));
  } catch {
    return json;
  }
}

/** The parts of a data URL, or the URL itself. */
export function media(url: unknown): { mimeType?: string; data: string } {
  const [, mimeType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(text(url)) ?? [];
  return mimeType === undefined || data === undefined ? { data: text(url) } : { mimeType, data };
}

/** An answer whole enough to be written in any shape. */
export interface FakeSpeech {
  readonly parts: readonly FakePart[];
  readonly usage: Required<FakeUsage>;
  readonly finish: FakeFinish;
  readonly after: FakeAnswer['after'] | 'finish';
}

const DEFAULT_USAGE = { input: 12, output: 7, cacheRead: 0 };

export function toSpeech(reply: string | readonly FakePart[] | FakeAnswer): FakeSpeech {
  const answer = isAnswer(reply) ? reply : { say: toParts(reply) };
  return {
    parts: answer.say,
    usage: { ...DEFAULT_USAGE, ...answer.usage },
    finish: answer.finish ?? 'stop',
    after: answer.after ?? 'finish',
  };
}

/** Whether the answer ends in calls, which some APIs give a finish reason of its own. */
export function hasCalls({ parts }: FakeSpeech): boolean {
  return parts.some((part) => 'call' in part);
}

export function toArguments({ args }: FakeCall): string {
  return typeof args === 'string' ? args : JSON.stringify(args);
}

export type FakeMedia = Extract<
  FakePart,
  { image: string } | { audio: string } | { video: string }
>;

export function isMedia(part: FakePart): part is FakeMedia {
  return 'image' in part || 'audio' in part || 'video' in part;
}

export function toMedia(part: FakeMedia): { data: string; mimeType: string } {
  if ('image' in part) return { data: part.image, mimeType: part.mimeType ?? 'image/png' };
  if ('audio' in part) return { data: part.audio, mimeType: part.mimeType ?? 'audio/wav' };
  return { data: part.video, mimeType: part.mimeType ?? 'video/mp4' };
}

function toParts(reply: string | readonly FakePart[]): readonly FakePart[] {
  return typeof reply === 'string' ? [{ text: reply }] : reply;
}

function isAnswer(reply: string | readonly FakePart[] | FakeAnswer): reply is FakeAnswer {
  return typeof reply === 'object' && 'say' in reply;
}
