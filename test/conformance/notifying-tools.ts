// Tools that say something while they work, or make others be told.

import { setTimeout as pause } from 'node:timers/promises';
import {
  MissingRequiredClientCapabilityError,
  type ServerContext,
  type ServerNotifier,
  type Tool,
} from '@modelcontextprotocol/server';
import { declaredCapabilities } from './declared-capabilities.ts';
import { type FixtureTool, fixtureTool, text } from './fixture-tool.ts';

/** The suite wants notifications to come one after the other, not in one piece. */
const PAUSE_MS = 50;

export function notifyingTools(notifier: () => ServerNotifier): readonly FixtureTool[] {
  return [
    fixtureTool('test_tool_with_logging', 'Logs three times', async (_, { mcpReq }) => {
      await mcpReq.log('info', 'Tool execution started');
      await pause(PAUSE_MS);
      await mcpReq.log('info', 'Tool processing data');
      await pause(PAUSE_MS);
      await mcpReq.log('info', 'Tool execution completed');
      return text('Tool with logging executed successfully');
    }),
    fixtureTool('test_reconnection', 'Logs once, so that it is a stream', async (_, { mcpReq }) => {
      await mcpReq.log('info', 'Reconnection test started');
      return text('Reconnection test completed successfully');
    }),
    fixtureTool('test_tool_with_progress', 'Reports progress three times', async (_, context) => {
      await progress(context, 0);
      await pause(PAUSE_MS);
      await progress(context, 50);
      await pause(PAUSE_MS);
      await progress(context, 100);
      return text('Tool with progress executed successfully');
    }),
    fixtureTool('test_logging_tool', 'Logs once, where that was asked for', async (_, context) => {
      await context.mcpReq.log('info', 'Diagnostic message');
      return text('Logging evaluated');
    }),
    fixtureTool('test_streaming_elicitation', 'Streams, and asks nothing', async (_, context) => {
      await progress(context, 50);
      return text('Streaming complete');
    }),
    fixtureTool('test_missing_capability', 'Works for clients that can sample', (_, context) => {
      if (declaredCapabilities(context).sampling) return text('Success');
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
    }),
    changingTool(notifier),
    fixtureTool('test_trigger_resource_change', 'Tells that a resource was updated', () => {
      notifier().resourceUpdated('test://watched-resource');
      return text('Mutation triggered');
    }),
    fixtureTool('test_trigger_prompt_change', 'Tells that the list of prompts changed', () => {
      notifier().promptsChanged();
      return text('Mutation triggered');
    }),
  ];
}

/** A gateway tells of a change only when there is one: what this tool changes is its description. */
function changingTool(notifier: () => ServerNotifier): FixtureTool {
  let changes = 0;
  return {
    get definition(): Tool {
      const description = `Changed the list of tools ${changes} times`;
      return { name: 'test_trigger_tool_change', description, inputSchema: { type: 'object' } };
    },
    call() {
      changes += 1;
      notifier().toolsChanged();
      return text('Mutation triggered');
    },
  };
}

async function progress({ mcpReq }: ServerContext, percent: number): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  const message = `Completed step ${percent} of 100`;
  const params = { progressToken, progress: percent, total: 100, message };
  await mcpReq.notify({ method: 'notifications/progress', params });
}
