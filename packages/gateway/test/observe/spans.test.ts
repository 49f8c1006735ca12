import { describe, expect, it } from 'vitest';
import {
  agentAttributes,
  agentSpanName,
  type CallFacts,
  serverAttributes,
  serverSpanName,
} from '../../src/observe/spans.ts';

const request = {
  transport: 'http',
  method: 'tools/call',
  protocolVersion: '2026-07-28',
  requestId: 7,
  depth: 2,
};

const call: CallFacts = {
  tool: 'fabric.call',
  principal: 'a1b2c3d4e5f6',
  agent_id: 'percy',
  capability: 'reason',
  stream: true,
  events: 4,
  first_event_ms: 1.5,
  attempts: 2,
  fallback: true,
  code: null,
};

describe('telemetry names', () => {
  it('names a span after its method, and after its target where those are few', () => {
    expect(serverSpanName('tools/call', 'fabric.call')).toBe('tools/call fabric.call');
    expect(serverSpanName('prompts/get', 'greet')).toBe('prompts/get greet');
    expect(serverSpanName('resources/read', 'file:///a')).toBe('resources/read');
    expect(serverSpanName('tools/list', '')).toBe('tools/list');
    expect(agentSpanName('percy')).toBe('invoke_agent percy');
  });

  it('describes a tool call with the words of the MCP and GenAI conventions', () => {
    expect(serverAttributes(request, call, false)).toEqual({
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2026-07-28',
      'jsonrpc.request.id': '7',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'fabric.call',
      'gen_ai.agent.id': 'percy',
      'network.transport': 'tcp',
      'starloom.transport': 'http',
      'starloom.principal.hash': 'a1b2c3d4e5f6',
      'starloom.capability': 'reason',
      'starloom.hop.depth': 2,
      'starloom.stream': true,
      'starloom.events': 4,
      'starloom.first_event_ms': 1.5,
      'starloom.attempts': 2,
      'starloom.fallback': true,
    });
  });

  it('leaves out what is not known', () => {
    const unknown = { principal: null, agent_id: null, capability: null, first_event_ms: null };
    const bare = serverAttributes(
      { transport: 'stdio', method: 'resources/read' },
      { ...call, ...unknown },
      false,
    );
    expect(bare).toEqual({
      'mcp.method.name': 'resources/read',
      'network.transport': 'pipe',
      'starloom.transport': 'stdio',
      'starloom.stream': true,
      'starloom.events': 4,
      'starloom.attempts': 2,
      'starloom.fallback': true,
    });
  });

  it('tells a tool that failed from a request that was refused', () => {
    const failed = serverAttributes(request, { ...call, code: 'TIMEOUT' }, false);
    expect(failed).toMatchObject({ 'error.type': 'tool_error', 'starloom.error.code': 'TIMEOUT' });
    expect(failed).not.toHaveProperty(['rpc.response.status_code']);
    expect(serverAttributes(request, { ...call, code: 'BAD_INPUT' }, true)).toMatchObject({
      'error.type': 'BAD_INPUT',
      'rpc.response.status_code': '-32602',
    });
  });

  it('describes an attempt as the invocation of an agent', () => {
    const attempt = {
      agentId: 'percy',
      nodeId: 'node-1',
      protocol: 'mcp',
      index: 1,
      breaker: 'half-open',
    } as const;
    expect(agentAttributes(attempt, 'reason', 'AGENT_OFFLINE')).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.id': 'percy',
      'gen_ai.agent.name': 'percy',
      'starloom.node.id': 'node-1',
      'starloom.agent.protocol': 'mcp',
      'starloom.fallback.index': 1,
      'starloom.breaker.state': 'half-open',
      'starloom.capability': 'reason',
      'error.type': 'AGENT_OFFLINE',
      'starloom.error.code': 'AGENT_OFFLINE',
    });
  });
});
