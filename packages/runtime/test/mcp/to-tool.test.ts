import { describe, expect, it } from 'vitest';
import type { McpServerConfig } from '../../src/config/agent-toml.ts';
import { toTool } from '../../src/mcp/client/to-tool.ts';
import { effectOf } from '../../src/trust/effect.ts';

const LISTED = { name: 'one', allowed_tools: ['*'] };

function effect(
  config: McpServerConfig,
  name: string,
  annotations?: Record<string, unknown>,
): string {
  const definition = { name, inputSchema: { type: 'object' as const } };
  const given = annotations ? { ...definition, annotations } : definition;
  return effectOf(toTool(config, given, async () => ''));
}

describe('the effect of an MCP tool', () => {
  it('is what its hint says when the operator listed the tool', () => {
    expect(effect(LISTED, 'frobnicate', { readOnlyHint: true })).toBe('read');
    expect(effect(LISTED, 'get_page', { readOnlyHint: false })).toBe('act');
  });

  it('is what its name says when the tool is not listed, or without a hint', () => {
    expect(effect({ name: 'one' }, 'frobnicate', { readOnlyHint: true })).toBe('act');
    expect(effect({ name: 'one' }, 'get_page', { readOnlyHint: false })).toBe('read');
    expect(effect(LISTED, 'wipe_all_logs_info')).toBe('act');
  });

  it('is an act when the server says that it destroys, listed or not', () => {
    expect(effect({ name: 'one' }, 'get_page', { destructiveHint: true })).toBe('act');
  });

  it('is what the operator says, before all else', () => {
    const tools = { get_page: { effect: 'act' as const, targets: ['id'] } };
    const config = { ...LISTED, tools };
    expect(effect(config, 'get_page', { readOnlyHint: true })).toBe('act');
    const definition = { name: 'get_page', inputSchema: { type: 'object' as const } };
    expect(toTool(config, definition, async () => '')).toMatchObject({ targets: ['id'] });
  });
});
