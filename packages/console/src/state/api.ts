// The one way to the gateway. Every answer is either what was asked for, or `NotRunning`, or throws a
// `GatewayError` with a cause and a fix. The token against forgery lives in this tab alone.

import type { ApiError, Failure, NotRunning, Success } from '../api-types.ts';

const PLACE = 'starloom.csrf';

let token = globalThis.sessionStorage?.getItem(PLACE) ?? '';
let onSignedOut: () => void = () => undefined;

export function csrf(): string {
  return token;
}

export function keepCsrf(value: string): void {
  token = value;
  if (value === '') sessionStorage.removeItem(PLACE);
  else sessionStorage.setItem(PLACE, value);
}

export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

export class GatewayError extends Error {
  readonly code: string;
  readonly status: number;
  readonly fix: string | undefined;
  readonly traceId: string | undefined;
  readonly details: ApiError['details'];

  constructor(error: ApiError, status: number, traceId?: string) {
    super(error.message);
    this.code = error.code;
    this.status = status;
    this.details = error.details ?? {};
    this.fix = this.details.fix;
    this.traceId = traceId;
  }

  static from(error: unknown): GatewayError {
    if (error instanceof GatewayError) return error;
    const isNetwork = error instanceof TypeError;
    return new GatewayError(
      {
        code: isNetwork ? 'UNREACHABLE' : 'INTERNAL',
        message: isNetwork ? 'The gateway does not answer.' : String(error),
        details: isNetwork
          ? { fix: 'Check that it runs: `starloom health`. The page reconnects by itself.' }
          : {},
      },
      0,
    );
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>;

export interface RequestOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** A bearer credential, for the request that opens a session. */
  readonly bearer?: string;
}

export async function send(
  method: string,
  path: string,
  { query, body, signal, bearer }: RequestOptions = {},
): Promise<Response> {
  const url = new URL(`api/${path}`, location.href.replace(/[?#].*$/, ''));
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  }
  const headers = new Headers({ 'X-Starloom-Csrf': token });
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  if (bearer !== undefined) headers.set('Authorization', `Bearer ${bearer}`);
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      headers,
      credentials: 'same-origin',
      cache: 'no-store',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw GatewayError.from(error);
  }
  if (response.ok) return response;
  const failure = await failureOf(response);
  if (response.status === 401 && path !== 'session') onSignedOut();
  throw failure;
}

export async function request<T>(
  method: string,
  path: string,
  options?: RequestOptions,
): Promise<Success<T> | NotRunning> {
  const response = await send(method, path, options);
  return (await response.json()) as Success<T> | NotRunning;
}

/** For what must be running: a part that is off is an error here, with its fix. */
export async function act<T>(
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body: unknown = {},
  query: Query = {},
): Promise<Success<T>> {
  const answer = await request<T>(method, path, method === 'POST' ? { body } : { query });
  if (answer.running === false) {
    const { message, fix } = answer;
    throw new GatewayError({ code: 'NOT_RUNNING', message, details: { fix } }, 200);
  }
  return answer;
}

/** Lines of JSON as they arrive. */
export async function* lines<T>(response: Response): AsyncGenerator<T> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const parts = (rest + value).split('\n');
      rest = parts.pop() ?? '';
      for (const part of parts) if (part.trim() !== '') yield JSON.parse(part) as T;
    }
    if (rest.trim() !== '') yield JSON.parse(rest) as T;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function failureOf(response: Response): Promise<GatewayError> {
  try {
    const { error, trace } = (await response.json()) as Failure;
    if (error?.code !== undefined) return new GatewayError(error, response.status, trace?.trace_id);
  } catch {
    // Not JSON: something between the page and the gateway answered.
  }
  const message = `The gateway answered with status ${response.status}.`;
  return new GatewayError({ code: 'UPSTREAM_ERROR', message, details: {} }, response.status);
}
