// Written by "npm run docs" from the methods of @starloom/coordination; not to be edited.

import type { JsonObject } from '@starloom/core';
import type { CommonParams } from './common-params.ts';

export interface McpMethods {
  'mcp.discover': {
    params: CommonParams;
    result: { protocol_version: string; services: Record<string, string> };
  };
  'mcp.status': {
    params: CommonParams;
    result: {
      ok: true;
      at: number;
      heartbeat_interval_ms: number;
      warnings: { problem: string; fix: string }[];
    };
  };
  'mcp.describe': {
    params: CommonParams & {
      service?:
        | 'agent_registry'
        | 'context_coordinator'
        | 'memory_locker'
        | 'tool_cache'
        | 'shared_buffer'
        | 'session_manager'
        | undefined;
    };
    result: {
      methods: { name: string; summary: string; params: JsonObject; result: JsonObject }[];
    };
  };
}
