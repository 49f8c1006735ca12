import type { ServerResponse } from 'node:http';
import { adapterContract } from '@starloom/core/testing';
import { describe, expect, it } from 'vitest';
import { eventually, runCall } from './fixtures/agent-world.ts';
import { flood, hostileHttpAgent } from './fixtures/hostile-http.ts';
import { openHttpAdapter, serveHttp } from './fixtures/http-world.ts';
import { sseWriter } from './fixtures/profile-run.ts';
import { type ProfileName, startProfileServer } from './fixtures/profile-servers.ts';
import { json } from './fixtures/template-server.ts';

const MODEL = { data: false, toolCalls: false, progress: false, artifacts: false };
const AGENT = { artifacts: false, asks: true, waits: true };

const PROFILES = [
  ['openai-chat', MODEL, serveChat],
  ['openai-responses', MODEL, serveResponse],
  ['ag-ui', AGENT, serveRun],
  ['langgraph', AGENT, serveState],
] as const satisfies readonly (readonly [ProfileName, object, unknown])[];

describe('[G21][G26] an agent of a ready profile', () => {
  for (const [profile, has] of PROFILES) {
    adapterContract(
      `http, ${profile}`,
      async () => {
        const server = await startProfileServer(profile);
        return {
          adapter: openHttpAdapter(server.uri, { options: { profile } }),
          stopAgent: () => server.stop(),
          close: () => server.stop(),
        };
      },
      has,
    );
  }
});

for (const [profile, , serve] of PROFILES) {
  hostileHttpAgent(`http, ${profile}`, {
    open: (uri, bytes) =>
      openHttpAdapter(uri, {
        options: { profile, max_result_bytes: bytes, max_stream_bytes: bytes },
      }),
    serve: (_request, response) => serve(response),
  });
}

function serveChat(response: ServerResponse): void {
  json(response, { choices: [{ message: { content: 'fine' }, finish_reason: 'stop' }] });
}

function serveResponse(response: ServerResponse): void {
  const content = [{ type: 'output_text', text: 'fine' }];
  json(response, { id: 'r', status: 'completed', output: [{ type: 'message', content }] });
}

function serveRun(response: ServerResponse): void {
  const send = sseWriter(response);
  send({ type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', role: 'assistant', delta: 'fine' });
  send({ type: 'RUN_FINISHED', threadId: 't', runId: 'r' });
  response.end();
}

function serveState(response: ServerResponse): void {
  json(response, { messages: [{ type: 'ai', content: 'fine' }] });
}

describe('a stream without end, of an agent of a ready profile', () => {
  const cases = PROFILES.flatMap(([profile]) => [
    [profile, 'events', `data: ${JSON.stringify({ type: 'unheard.of' })}\n\n`, 'stream_too_large'],
    [profile, 'one event', 'data: x', 'event_too_large'],
  ]);

  it.each(cases)(
    '%s: of %s is cut, and the connection closed',
    async (profile, _, chunk, reason) => {
      const { adapter, connections } = await serveHttp(
        (_request, response) => flood(chunk ?? '', 'text/event-stream')(response),
        { path: '', options: { profile, max_result_bytes: 100_000, max_stream_bytes: 300_000 } },
      );
      const { error } = await runCall(adapter);
      expect(error).toMatchObject({ code: 'UPSTREAM_ERROR', details: { reason } });
      await expect.poll(() => connections.open.size, eventually).toBe(0);
    },
  );
});
