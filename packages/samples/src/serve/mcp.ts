// An agent as an MCP server with one tool. While it works, its events travel in progress
// notifications, if the caller asked for any; the last one is the result of the tool.

import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  type CallToolResult,
  createMcpHandler,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import {
  EventStamper,
  FabricError,
  type FabricEvent,
  type FinalData,
  fromMeta,
  toAnswerTrace,
} from '@starloom/core';
import { type AgentCard, runAgent, type SampleAgent } from '../agent.ts';
import { toFailure } from './call.ts';
import { serveLoopback } from './loopback.ts';

function createMcpServer<Input>(agent: SampleAgent<Input>): McpServer {
  const { id, capability, description, input: inputSchema, output: outputSchema } = agent;
  const server = new McpServer({ name: id, version: '0.1.0' });
  server.registerTool(capability, { description, inputSchema, outputSchema }, (input, context) =>
    call(agent, input, context),
  );
  return server;
}

async function call<Input>(
  agent: SampleAgent<Input>,
  input: unknown,
  { mcpReq }: ServerContext,
): Promise<CallToolResult> {
  const { _meta = {}, signal, notify } = mcpReq;
  const { progressToken } = _meta;
  const trace = toAnswerTrace(() => fromMeta(_meta));
  const stamper = new EventStamper(trace, Date.now);
  try {
    for await (const body of runAgent(agent, input, signal)) {
      if (body.type === 'final') return toResult(body.data, agent);
      if (progressToken === undefined) continue;
      const event = stamper.stamp(body, agent.id);
      const params = { progressToken, progress: event.seq, message: messageOf(event) };
      const method = 'notifications/progress';
      await notify({ method, params: { ...params, _meta: { 'io.starloom/event': event } } });
    }
    throw new FabricError('INTERNAL', `${agent.id} ended without a final event`);
  } catch (error) {
    const payload = toFailure(error).toPayload(trace);
    return { isError: true, content: [{ type: 'text', text: JSON.stringify(payload) }] };
  }
}

function toResult({ answer, data }: FinalData, { output }: AgentCard): CallToolResult {
  return { content: [{ type: 'text', text: answer }], structuredContent: output.parse(data) };
}

function messageOf({ type, data }: FabricEvent): string {
  if (type === 'token') return data.text;
  return (type === 'progress' || type === 'status' ? data.message : undefined) ?? type;
}

export async function serveMcpHttp<Input>(agent: SampleAgent<Input>, port: number): Promise<void> {
  const handle = toNodeHandler(createMcpHandler(() => createMcpServer(agent)));
  await serveLoopback(port, '/mcp', handle);
}

export function serveMcpStdio<Input>(agent: SampleAgent<Input>): void {
  serveStdio(() => createMcpServer(agent));
}
