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

/** What a fake model was asked, in words that fit every API. */
export interface FakeRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As it came. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly model: string;
  readonly stream: boolean;
  readonly system: string;
  readonly messages: readonly FakeMessage[];
  readonly tools: readonly FakeTool[];
  /** Whether the whole answer went out, or the asker left before. */
  readonly ended: Promise<'answered' | 'left'>;
}

/** A part of questions that a client keeps at the service, renews or deletes. */
export interface FakeStoreRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Json;
}

export interface FakeMessage {
  readonly role: 'user' | 'assistant';
  readonly parts: readonly FakeMessagePart[];
}

export type FakeMessagePart =
  | { readonly text: string }
  | { readonly reasoning: string }
  | { readonly media: { readonly mimeType?: string; readonly data: string } }
  | { readonly call: { readonly id?: string; readonly name: string; readonly args: unknown } }
  | { readonly result: { readonly id?: string; readonly name?: string; readonly text: string } };

export interface FakeTool {
  readonly name: string;
  readonly description?: string;
  readonly parameters: unknown;
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

/** One answer after the other, or a function that reads the question. */
export type FakeScript =
  | readonly FakeReply[]
  | ((request: FakeRequest, index: number) => FakeReply | Promise<FakeReply>);

/** A string is one part of text. */
export type FakeReply = string | readonly FakePart[] | FakeAnswer | FakeFailure | FakeGarbage;

export type FakePart =
  | { readonly text: string }
  | { readonly reasoning: string; readonly signature?: string }
  | { readonly call: FakeCall }
  | { readonly image: string; readonly mimeType?: string }
  | { readonly audio: string; readonly mimeType?: string }
  | { readonly video: string; readonly mimeType?: string };

export interface FakeCall {
  /** As the tool is registered: it goes out as the request spelled it. */
  readonly name: string;
  /** A string goes out as it is, so that it may be broken JSON. */
  readonly args: unknown;
  /** Absent: made up where the API has ids. Null: the wire has none. */
  readonly id?: string | null;
  readonly signature?: string;
}

export interface FakeAnswer {
  readonly say: readonly FakePart[];
  readonly usage?: FakeUsage;
  readonly finish?: FakeFinish;
  /**
   * After what was said: `hang` keeps the connection and is silent, `disconnect` cuts it, `end` closes
   * it in good order without the marks of an end. A buffered answer hangs or breaks before it is whole.
   */
  readonly after?: 'hang' | 'disconnect' | 'end';
}

export interface FakeFailure {
  readonly status: number;
  /** In seconds, as the `Retry-After` header says it. */
  readonly retryAfter?: number;
  readonly message?: string;
}

/** A body of any kind with status 200. */
export interface FakeGarbage {
  readonly garbage: string;
  readonly contentType?: string;
}

export type FakeFinish = 'stop' | 'length' | 'content_filter';

export interface FakeUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
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
