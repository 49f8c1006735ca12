// The official TypeScript SDK, version 2.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  answerNext,
  type ConnectRequest,
  type DriverSession,
  emit,
  serve,
} from './line-protocol.ts';

await serve(async (request): Promise<DriverSession> => {
  const { elicitation, sampling } = request.answers ?? {};
  const client = new Client(
    { name: request.name, version: '1' },
    {
      capabilities: { ...(elicitation && { elicitation: {} }), ...(sampling && { sampling: {} }) },
      versionNegotiation: { mode: request.mode ?? 'auto' },
      listChanged: {
        tools: { autoRefresh: false, onChanged: () => emit({ event: 'tools_changed' }) },
      },
    },
  );
  if (elicitation)
    client.setRequestHandler('elicitation/create', (asked) => answerNext(asked, elicitation));
  if (sampling)
    client.setRequestHandler('sampling/createMessage', (asked) => answerNext(asked, sampling));
  await client.connect(transportTo(request));
  return {
    protocolVersion: client.getNegotiatedProtocolVersion(),
    list: async () => (await client.listTools(undefined, { cacheMode: 'bypass' })).tools,
    call: (call, options) =>
      client.callTool({ name: call.name, arguments: call.arguments }, options),
    read: (uri) => client.readResource({ uri }),
    close: () => client.close(),
  };
});

function transportTo(target: ConnectRequest) {
  if ('command' in target) return new StdioClientTransport(target);
  const headers = { authorization: `Bearer ${target.key}` };
  return new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } });
}
