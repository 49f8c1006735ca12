// What the model of a provider under test says, and what it was asked, in words that fit every API.

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

export interface FakeRequest {
  /** As it came. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly system: string;
  readonly messages: readonly FakeMessage[];
  readonly tools: readonly FakeTool[];
  /** Whether the whole answer went out, or the asker left before. */
  readonly ended: Promise<'answered' | 'left'>;
}

/** The service that a provider asks, as a script has it answer. */
export interface FakeService {
  /** Everything that was asked, oldest first. */
  readonly requests: readonly FakeRequest[];
  /** Cuts every connection. */
  close(): Promise<void>;
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
