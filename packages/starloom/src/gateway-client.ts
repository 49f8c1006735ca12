// How commands talk to a running gateway: as any other MCP client does.

import { Client, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  type ErrorPayload,
  errorPayloadSchema,
  FabricError,
  type FabricEvent,
  parseErrorPayload,
} from '@starloom/core';
import { marksIn } from '@starloom/wire/environment';
import { z } from 'zod';
import { failure } from './reasons.ts';
import { clientFile, stateFolder } from './state-folder.ts';
import type { Terminal } from './terminal.ts';
import type { ToolName, ToolPayloads } from './tool-payloads.ts';

export interface GatewayClient extends AsyncDisposable {
  readonly url: string;
  /** The tool's payload; a failure is thrown, with the payload as its cause. */
  call<Name extends ToolName>(
    tool: Name,
    args: object,
    options?: CallOptions,
  ): Promise<ToolPayloads[Name]>;
}

interface CallOptions {
  /** With its number in the stream of a job, where it is of one. */
  readonly onEvent?: (event: FabricEvent, cursor?: number) => void;
  readonly timeoutMs?: number;
  /** The time counts from the last event on. */
  readonly isIdleTimeout?: boolean;
  readonly signal?: AbortSignal;
}

const MINUTE_MS = 60_000;

/** `named` is another gateway than the one that the environment or the state folder names. */
export async function connectToGateway(
  { env }: Pick<Terminal, 'env'>,
  named?: string,
): Promise<GatewayClient> {
  const { url: known, headers } = await readAddress(env);
  const url = named ?? known;
  if (!url) throw failure('gateway_unreachable/unknown');
  const about = { name: 'starloom-cli', version: '0.1.0' };
  const client = new Client(about, { versionNegotiation: { mode: 'auto' } });
  const transport = new GatewayTransport(new URL('/mcp', url), { requestInit: { headers } });
  try {
    await client.connect(transport);
  } catch (error) {
    throw toConnectError(error, url);
  }
  return {
    url,
    call: (tool, args, options = {}) => callTool(client, tool, args, options),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Of the gateway that the environment names, or else of the one that ran here last. */
export async function readAddress(env: Terminal['env']) {
  const known = await clientFile.read(stateFolder(env));
  const key = env.STARLOOM_KEY ?? known?.key;
  const marks = marksIn(env);
  const headers: Record<string, string> = {
    ...(key && { authorization: `Bearer ${key}` }),
    ...(marks !== undefined && { 'x-starloom-process': marks }),
  };
  return { url: env.STARLOOM_URL ?? known?.url, headers };
}

async function callTool<Name extends ToolName>(
  client: Client,
  name: Name,
  args: object,
  { onEvent, timeoutMs = MINUTE_MS, isIdleTimeout = false, signal }: CallOptions,
): Promise<ToolPayloads[Name]> {
  const onprogress = (progress: object) => {
    const { _meta: meta } = progress as { _meta?: EventMeta };
    const event = meta?.['io.starloom/event'];
    if (event) onEvent?.(event, meta?.['io.starloom/cursor']);
  };
  const limits = { timeout: timeoutMs, resetTimeoutOnProgress: isIdleTimeout };
  const options = { ...limits, ...(signal && { signal }), ...(onEvent && { onprogress }) };
  const calling = client.callTool({ name, arguments: { ...args } }, options);
  const result = await calling.catch((error: unknown) => {
    if (signal?.aborted) {
      throw new FabricError('CANCELLED', 'The call was cancelled', { cause: error });
    }
    if (isLost(error)) throw failure('gateway_unreachable/gone', {}, { cause: error });
    const refusal = refusalIn(error);
    throw refusal ? toFabricError(refusal) : error;
  });
  const payload = (result.structuredContent ?? {}) as Answer<Name>;
  if (payload.ok === true) return payload;
  throw toFabricError(payload);
}

function toFabricError(payload: unknown): FabricError {
  const read = parseErrorPayload(payload);
  const { code = 'INTERNAL', message = 'The gateway answered without a result' } = read ?? {};
  return new FabricError(code, message, { details: read?.details ?? {}, cause: payload });
}

const refusalSchema = z.object({ error: z.object({ data: errorPayloadSchema }) });

/** A request that was refused as a whole (too large, too many): the body of the answer says why. */
function refusalIn(error: unknown): ErrorPayload | undefined {
  if (!(error instanceof SdkHttpError)) return undefined;
  try {
    return refusalSchema.safeParse(JSON.parse(String(error.data.text))).data?.error.data;
  } catch {
    return undefined;
  }
}

function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { name, message } = error;
  if (message === STREAM_ENDED) return true;
  return name === 'TypeError' && /fetch failed|terminated/.test(message);
}

const STREAM_ENDED = 'The stream of the answer ended without it';

type Send = StreamableHTTPClientTransport['send'];

/** Fails a request as soon as its stream ends without the answer; the SDK waits for the timeout. */
export class GatewayTransport extends StreamableHTTPClientTransport {
  override async send(...[message, options]: Parameters<Send>): ReturnType<Send> {
    const id = 'id' in message && 'method' in message ? message.id : undefined;
    // An answer that came before is the one that counts.
    const onEnd = () => {
      options?.onRequestStreamEnd?.();
      if (id === undefined) return;
      this.onmessage?.({ jsonrpc: '2.0', id, error: { code: -32_000, message: STREAM_ENDED } });
    };
    await super.send(message, { ...options, onRequestStreamEnd: onEnd });
  }
}

interface EventMeta {
  readonly 'io.starloom/event'?: FabricEvent;
  readonly 'io.starloom/cursor'?: number;
}

type Answer<Name extends ToolName> =
  | (ToolPayloads[Name] & { readonly ok: true })
  | { readonly ok?: false; readonly error?: ErrorPayload['error'] };

export function toConnectError(error: unknown, url: string): unknown {
  const text = String((error as Error)?.message);
  if (/401|AUTH_DENIED|not known|no credentials/i.test(text)) {
    return failure('unknown_key', { url }, { cause: error });
  }
  const key = isUntrusted(error) ? 'gateway_unreachable/untrusted' : 'gateway_unreachable';
  return failure(key, { url }, { cause: error });
}

/** As OpenSSL names a certificate that no known CA issued, or that is for another name. */
function isUntrusted(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return (
    /SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|CERT_|ALTNAME/.test(code) || isUntrusted(error.cause)
  );
}
