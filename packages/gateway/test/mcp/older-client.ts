// A client of an older revision over HTTP, without any client library.

import { KEY } from '../test-gateway.ts';

export interface OlderOptions {
  readonly version?: string;
  readonly key?: string;
  readonly name?: string;
  readonly capabilities?: object;
}

// biome-ignore lint/suspicious/noExplicitAny: tests read into payloads freely
type Message = any;

export interface Reply {
  readonly status: number;
  readonly type: string | undefined;
  readonly sessionId: string | null;
  readonly messages: readonly Message[];
}

export const INITIALIZE = (version: string, name: string, capabilities: object) => ({
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: version, capabilities, clientInfo: { name, version: '0' } },
});

export class OlderClient {
  readonly #url: string;
  readonly #options: Required<OlderOptions>;
  sessionId: string | undefined;

  constructor(url: string, options: OlderOptions = {}) {
    const defaults = { version: '2025-11-25', key: KEY, name: 'older', capabilities: {} };
    this.#url = `${url}/mcp`;
    this.#options = { ...defaults, ...options };
  }

  static async open(url: string, options?: OlderOptions): Promise<OlderClient> {
    const client = new OlderClient(url, options);
    await client.initialize();
    return client;
  }

  async initialize(): Promise<Reply> {
    const { version, name, capabilities } = this.#options;
    const reply = await this.post(INITIALIZE(version, name, capabilities), {
      'mcp-protocol-version': undefined,
    });
    this.sessionId = reply.sessionId ?? undefined;
    if (this.sessionId) await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return reply;
  }

  async post(body: unknown, headers: Record<string, string | undefined> = {}): Promise<Reply> {
    return await toReply(await this.send('POST', headers, JSON.stringify(body)));
  }

  request(method: string, params: object = {}, id: string | number = 1): Promise<Reply> {
    return this.post({ jsonrpc: '2.0', id, method, params });
  }

  call(name: string, args: object = {}, meta?: object, id: string | number = 1): Promise<Reply> {
    const params = { name, arguments: args, ...(meta && { _meta: meta }) };
    return this.request('tools/call', params, id);
  }

  /** Not yet read. */
  send(
    method: string,
    headers: Record<string, string | undefined> = {},
    body?: string,
    signal?: AbortSignal,
  ): Promise<Response> {
    const all = {
      authorization: `Bearer ${this.#options.key}`,
      accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      'content-type': body === undefined ? undefined : 'application/json',
      'mcp-protocol-version': this.#options.version,
      'mcp-session-id': this.sessionId,
      ...headers,
    };
    const given = Object.entries(all).filter((entry): entry is [string, string] => !!entry[1]);
    return fetch(this.#url, {
      method,
      headers: given,
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
  }

  async listen(headers: Record<string, string> = {}): Promise<EventReader> {
    const control = new AbortController();
    const response = await this.send('GET', headers, undefined, control.signal);
    return new EventReader(response, control);
  }
}

export interface ReadEvent {
  readonly id: string | undefined;
  readonly message: Message;
}

/** Reads events of a response one after the other. */
export class EventReader {
  readonly response: Response;
  readonly #control: AbortController;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #decoder = new TextDecoder();
  #rest = '';

  constructor(response: Response, control = new AbortController()) {
    this.response = response;
    this.#control = control;
    this.#reader = response.body?.getReader();
  }

  /** `undefined` at the end. Comments are passed over; an event without data has no message. */
  async next(): Promise<ReadEvent | undefined> {
    for (;;) {
      const end = this.#rest.indexOf('\n\n');
      if (end >= 0) {
        const text = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 2);
        if (!text.startsWith(':')) return toEvent(text);
        continue;
      }
      const read = await this.#reader?.read();
      if (!read || read.done) return undefined;
      this.#rest += this.#decoder.decode(read.value, { stream: true });
    }
  }

  async nextMessage(): Promise<Message> {
    for (let event = await this.next(); event; event = await this.next()) {
      if (event.message !== undefined) return event.message;
    }
    return undefined;
  }

  leave(): void {
    this.#control.abort();
  }
}

async function toReply(response: Response): Promise<Reply> {
  const text = await response.text();
  const type = response.headers.get('content-type')?.split(';')[0];
  const messages =
    type === 'text/event-stream'
      ? text
          .split('\n\n')
          .map((event) => toEvent(event).message)
          .filter((message) => message !== undefined)
      : text === ''
        ? []
        : [JSON.parse(text)];
  const sessionId = response.headers.get('mcp-session-id');
  return { status: response.status, type, sessionId, messages };
}

function toEvent(text: string): ReadEvent {
  const [, id] = /^id: (.*)$/m.exec(text) ?? [];
  const [, data = ''] = /^data: (.+)$/m.exec(text) ?? [];
  return { id, message: data === '' ? undefined : JSON.parse(data) };
}
