// The official TypeScript SDK, version 1.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import {
  answerNext,
  type ConnectRequest,
  type DriverSession,
  emit,
  serve,
} from './line-protocol.ts';

await serve(async (request): Promise<DriverSession> => {
  const { elicitation, sampling } = request.answers ?? {};
  const capabilities = {
    ...(elicitation && { elicitation: {} }),
    ...(sampling && { sampling: {} }),
  };
  const client = new Client({ name: request.name, version: '1' }, { capabilities });
  if (elicitation)
    client.setRequestHandler(ElicitRequestSchema, (asked) => answerNext(asked, elicitation));
  if (sampling)
    client.setRequestHandler(CreateMessageRequestSchema, (asked) => answerNext(asked, sampling));
  client.setNotificationHandler(ToolListChangedNotificationSchema, () =>
    emit({ event: 'tools_changed' }),
  );
  const transport: Transport = transportTo(request);
  let protocolVersion: string | undefined;
  const setVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    protocolVersion = version;
    setVersion?.(version);
  };
  await client.connect(transport);
  return {
    protocolVersion,
    list: async () => {
      const tools: unknown[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools({ cursor });
        tools.push(...page.tools);
        cursor = page.nextCursor;
      } while (cursor);
      return tools;
    },
    call: (call, options) =>
      client.callTool({ name: call.name, arguments: call.arguments }, undefined, options),
    read: (uri) => client.readResource({ uri }),
    close: () => client.close(),
  };
});

function transportTo(target: ConnectRequest) {
  if ('command' in target) return new StdioClientTransport(target);
  const headers = { authorization: `Bearer ${target.key}` };
  return new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } });
}
