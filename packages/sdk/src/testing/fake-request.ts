// What a fake model was asked, read from the wire shape of its API into words that fit every API.

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

/** What an API reads out of a request body. */
export type FakeQuestion = Pick<FakeRequest, 'model' | 'stream' | 'system' | 'messages' | 'tools'>;

type Json = Readonly<Record<string, unknown>>;

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

export function parsed(json: unknown): unknown {
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
