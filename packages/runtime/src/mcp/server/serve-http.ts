import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { notifySubscribers } from '@starloom/mcp-client/server';
import { settlesWithin, toRefusal, writeRefusal } from '@starloom/wire';
import { type HttpFace, type HttpFaceOptions, openHttpFace } from '../../http-face.ts';
import { failure } from '../../reasons.ts';
import { createServer } from './create-server.ts';
import type { AgentMcpFace } from './mcp-face.ts';

const MAX_BODY_BYTES = 4_194_304;
const DRAIN_MS = 5_000;

/** The agent as MCP server over HTTP, at /mcp. */
export async function openMcpHttp(face: AgentMcpFace, options: HttpFaceOptions): Promise<HttpFace> {
  const handler = createMcpHandler(
    ({ era, requestInfo }) =>
      createServer(face, {
        hasPush: era === 'modern',
        headers: Object.fromEntries(requestInfo?.headers ?? []),
      }),
    { onerror: (error) => face.log.debug({ error: error.message }, 'mcp') },
  );
  const answer = toNodeHandler(handler, { maxRequestBodySize: MAX_BODY_BYTES });
  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    assertSameSite: () => void,
  ): Promise<void> => {
    try {
      assertSameSite();
      if (request.url?.split('?')[0] !== '/mcp') throw failure('not_found/path');
      const { headersDistinct: headers, url } = request;
      const proven = options.authenticator?.authenticate({ transport: 'http', headers, url });
      if (proven instanceof Promise) await proven;
    } catch (error) {
      writeRefusal(response, toRefusal(error, null));
      return;
    }
    void answer(request as Parameters<typeof answer>[0], response);
  };
  const drain = async () => {
    stop();
    await settlesWithin(face.idle(), DRAIN_MS);
    await nextTurn();
    await handler.close();
  };
  const stop = face.onListChanged((kind) => notifySubscribers(handler.notify, kind));
  const opened = await openHttpFace(options, { serve, drain });
  return { ...opened, url: `${opened.url}/mcp` };
}
