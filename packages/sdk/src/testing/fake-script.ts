// What a fake model says, in words that fit every API. Each server writes it in its own wire shape.

import type { FakeRequest } from './fake-request.ts';

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
