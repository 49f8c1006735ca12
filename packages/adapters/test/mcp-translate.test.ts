import { createTrace, type Envelope, ROOT_HOP, toCapabilityName } from '@starloom/core';
import { rpcErrorOf, rpcFailure } from '@starloom/mcp-client';
import { describe, expect, it } from 'vitest';
import { toEventBody } from '../src/mcp/notifications.ts';
import { toCapability, toFinal, toToolCall, wantsInput } from '../src/mcp/translate.ts';

const progress = (params: Record<string, unknown>) =>
  toEventBody({ jsonrpc: '2.0', method: 'notifications/progress', params });

describe('progress of an mcp agent', () => {
  it('becomes a percentage when the agent says of how much', () => {
    expect(progress({ progress: 3, total: 4, message: 'nearly' })).toEqual({
      type: 'progress',
      data: { percent: 75, message: 'nearly', upstream: { progress: 3, total: 4 } },
    });
    expect(progress({ progress: 9, total: 4 })).toEqual({
      type: 'progress',
      data: { percent: 100, upstream: { progress: 9, total: 4 } },
    });
  });

  it.each([
    [{ progress: 3 }, { progress: 3 }],
    [
      { progress: 3, total: 0 },
      { progress: 3, total: 0 },
    ],
    [{ progress: 'x', total: 4 }, undefined],
    [{ progress: 1e300, total: 0 }, undefined],
  ])('has no percentage when there is none to tell: %j', (params, upstream) => {
    const data = upstream === undefined ? {} : { upstream };
    expect(progress(params)).toEqual({ type: 'progress', data });
  });

  it('counts as the notification does, also when it carries an event of ours', () => {
    const event = { type: 'progress', data: { percent: 25 }, seq: 7, agent_id: 'them' };
    const params = { progress: 5, total: 20, _meta: { 'io.starloom/event': event } };
    expect(progress(params)).toEqual({
      type: 'progress',
      data: { percent: 25, upstream: { progress: 5, total: 20 } },
    });
  });

  it('is the event it carries when the agent is one of ours', () => {
    const event = { type: 'token', data: { text: 'hi' }, seq: 7, agent_id: 'them' };
    expect(progress({ progress: 7, _meta: { 'io.starloom/event': event } })).toEqual({
      type: 'token',
      data: { text: 'hi' },
    });
  });

  it('is plain progress when what it carries is no event', () => {
    const event = { type: 'token', data: { text: 42 } };
    expect(progress({ progress: 1, total: 2, _meta: { 'io.starloom/event': event } })).toEqual({
      type: 'progress',
      data: { percent: 50, upstream: { progress: 1, total: 2 } },
    });
  });
});

describe('the result of a tool', () => {
  it('is the text of its blocks, its structured content, and the blocks as they are', () => {
    const image = { type: 'image', data: 'aGk=', mimeType: 'image/png', extra: true };
    const content = [{ type: 'text', text: 'one' }, image, { type: 'text', text: 'two' }];
    const result = { content, structuredContent: null, _meta: { more: true } };
    expect(toFinal(result, undefined)).toEqual({
      type: 'final',
      data: { answer: 'one\ntwo', content, data: null, upstream: result },
    });
    expect(toFinal({ content }, undefined)).not.toHaveProperty('data.data');
  });

  it('has the citations of the final event the agent sent before', () => {
    const citations = [{ title: 'Source' }];
    expect(toFinal({ content: [] }, { answer: '', citations })).toMatchObject({
      data: { citations },
    });
  });

  it('is a failure with what the tool said when it failed', () => {
    const content = [
      { type: 'text', text: 'Access denied' },
      { type: 'image', data: '' },
    ];
    const failure = thrown(() => toFinal({ isError: true, content }, undefined));
    expect(failure).toMatchObject({
      code: 'UPSTREAM_ERROR',
      details: { reason: 'tool_error', upstream: 'Access denied' },
      answer: { isError: true, content },
      isAgentAnswer: true,
    });
  });

  const payload = {
    ok: false,
    error: { code: 'RECURSION_LIMIT', message: 'Too deep', details: { depth: 6, sent: false } },
    trace: null,
  };

  it('keeps the code of another gateway, found in its metadata', () => {
    const result = { content: [], _meta: { 'io.starloom/error': payload } };
    const failure = thrown(() => toFinal({ isError: true, ...result }, undefined));
    expect(failure).toMatchObject({
      code: 'RECURSION_LIMIT',
      details: { depth: 6, upstream: { code: 'RECURSION_LIMIT' } },
    });
    expect(failure).not.toHaveProperty('details.sent');
  });

  it('is the answer of the agent when only its text looks like a payload of ours', () => {
    const content = [{ type: 'text', text: JSON.stringify(payload) }];
    const failure = thrown(() => toFinal({ isError: true, content }, undefined));
    expect(failure).toMatchObject({ isAgentAnswer: true, answer: { content } });
  });

  it('stays the answer of the agent through another gateway', () => {
    const inner = { code: 'UPSTREAM_ERROR', message: 'x', details: { reason: 'tool_error' } };
    const _meta = { 'io.starloom/error': { ok: false, error: inner, trace: null } };
    const content = [{ type: 'text', text: 'Access denied' }];
    const failure = thrown(() => toFinal({ isError: true, content, _meta }, undefined));
    expect(failure).toMatchObject({ isAgentAnswer: true, answer: { content } });
  });

  it('does not take over a code that is not in the table', () => {
    const error = { code: 'toString', message: 'x', details: {} };
    const text = JSON.stringify({ ok: false, error });
    const failure = thrown(() =>
      toFinal({ isError: true, content: [{ type: 'text', text }] }, undefined),
    );
    expect(failure).toMatchObject({ code: 'UPSTREAM_ERROR' });
  });

  it('is none while the agent wants input, or answers with what we do not know', () => {
    expect(wantsInput({ resultType: 'input_required' })).toBe(true);
    expect(wantsInput({})).toBe(false);
    expect(thrown(() => wantsInput({ resultType: 'task' }))).toMatchObject({
      details: { reason: 'unsupported_result' },
    });
  });
});

describe('a JSON-RPC error of an agent', () => {
  it.each([
    [-32_602, 'Unknown tool: x', 'CAPABILITY_NOT_FOUND'],
    [-32_602, 'MCP error -32602: Tool x not found', 'CAPABILITY_NOT_FOUND'],
    [-32_602, 'task must be a string', 'BAD_INPUT'],
    [-32_601, 'Method not found', 'CAPABILITY_NOT_FOUND'],
    [-32_603, 'Tool not found in database', 'UPSTREAM_ERROR'],
    [-32_000, 'Oops', 'UPSTREAM_ERROR'],
  ])('%i "%s" is %s, and stays readable', (code, message, expected) => {
    const failure = rpcFailure({ code, message, data: { more: true } });
    expect(failure.code).toBe(expected);
    expect(rpcErrorOf(failure)).toEqual({ code, message, data: { more: true } });
  });

  it('keeps the code of another gateway', () => {
    const data = {
      ok: false,
      error: { code: 'RATE_LIMITED', message: 'x', details: { retry_after_ms: 5 } },
    };
    const failure = rpcFailure({ code: -32_009, message: 'x', data });
    expect(failure).toMatchObject({ code: 'RATE_LIMITED', details: { retry_after_ms: 5 } });
  });
});

describe('a tool as a capability', () => {
  const tool = {
    name: 'read',
    capability: 'read',
    title: undefined,
    description: undefined,
    inputSchema: undefined,
    outputSchema: undefined,
    annotations: {},
    rest: {},
    paramHeaders: [],
  };

  it('is idempotent when the agent hints so', () => {
    const idempotent = (annotations: Record<string, unknown>) =>
      toCapability({ ...tool, annotations }).idempotent;
    expect(idempotent({ readOnlyHint: true })).toBe(true);
    expect(idempotent({ idempotentHint: true })).toBe(true);
    expect(idempotent({ idempotentHint: false })).toBe(false);
    expect(idempotent({ readOnlyHint: false })).toBeUndefined();
  });

  const named = (name: string) => ({ ...tool, name, capability: toCapabilityName(name) });

  it('has a name of ours, and remembers its own', () => {
    expect(toCapability(tool)).toMatchObject({ name: 'read' });
    expect(toCapability(tool)).not.toHaveProperty('tool');
    const long = `web/${'search '.repeat(20)}`;
    const capability = toCapability(named(long));
    expect(capability.tool).toBe(long);
    expect(capability.name).toMatch(/^web-search-[a-z-]+-[0-9a-f]{8}$/);
    expect(capability.name).toHaveLength(64);
    expect(toCapability(named('a/b')).name).not.toBe(toCapability(named('a b')).name);
  });
});

function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return expect.fail('nothing was thrown');
}

describe('a tool call', () => {
  it('declares what the client declared, but no tasks: the gateway waits for the result', () => {
    const key = 'io.modelcontextprotocol/clientCapabilities';
    const extensions = { 'io.modelcontextprotocol/tasks': {}, 'org.example/other': {} };
    const envelope = { trace: createTrace(), hop: ROOT_HOP } as unknown as Envelope;
    const call = toToolCall({}, envelope, {
      declared: { [key]: { elicitation: {}, extensions } },
    });
    expect(call._meta).toMatchObject({ [key]: { elicitation: {} } });
    expect(call._meta).toHaveProperty([key, 'extensions'], { 'org.example/other': {} });
  });
});
