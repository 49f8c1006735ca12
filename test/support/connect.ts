import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { eventSchema, type FabricEvent } from '@starloom/core';

export type Mode = 'auto' | 'legacy';

/** An MCP client of the gateway; `auto` takes the current revision, `legacy` the one before. */
export async function connect(
  { url, key }: { readonly url: string; readonly key: string },
  mode: Mode = 'auto',
): Promise<Client & AsyncDisposable> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** Calls a tool and keeps the events that came on the way. */
export async function callWithEvents(
  client: Client,
  name: string,
  toolArguments: Record<string, unknown>,
) {
  const events: FabricEvent[] = [];
  const result = await client.callTool(
    { name, arguments: toolArguments },
    {
      onprogress: (progress) => {
        const { _meta = {} } = progress as { _meta?: Record<string, unknown> };
        events.push(eventSchema.parse(_meta['io.starloom/event']));
      },
    },
  );
  return { result, events };
}
