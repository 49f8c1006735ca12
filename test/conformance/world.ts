import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type RunningGateway, startGateway } from '../support/start-gateway.ts';
import { type ConformanceAgent, startConformanceAgent } from './agent.ts';
import { TASK_SUPPORT } from './task-tools.ts';

export interface ConformanceWorld extends AsyncDisposable {
  readonly agent: ConformanceAgent;
  readonly gateway: RunningGateway;
}

const AGENT_ID = 'conformance';

/** The agent, and a gateway that shows its tools, resources and prompts under their own names. */
export async function startConformanceWorld(): Promise<ConformanceWorld> {
  await using stack = new AsyncDisposableStack();
  const agent = stack.use(await startConformanceAgent());
  const gateway = stack.use(
    await startGateway({
      config: {
        auth: { anonymous: true },
        mcp: { expose: [AGENT_ID], unprefixed: [AGENT_ID] },
        // A tool of the agent changes its own description, so that its list changes.
        pinning: { mode: 'off' },
        telemetry: { log_level: 'warn' },
      },
      agents: [
        {
          agent_id: AGENT_ID,
          trust_tier: 'local',
          endpoint: { transport: 'http', uri: agent.url },
          capabilities: agent.tools.map(({ name }) => ({
            name,
            ...(TASK_SUPPORT[name] && { tasks: TASK_SUPPORT[name] }),
          })),
        },
      ],
    }),
  );
  await describeAgent(gateway.url);
  const owned = stack.move();
  return { agent, gateway, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The gateway learns the schemas of the tools from the agent itself, the first time it is asked. */
async function describeAgent(url: string): Promise<void> {
  const client = new Client({ name: 'conformance', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  await client.callTool({ name: 'fabric.agent.describe', arguments: { agent_id: AGENT_ID } });
  await client.close();
}
