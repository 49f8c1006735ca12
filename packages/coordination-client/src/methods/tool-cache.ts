// Written by "npm run docs" from the methods of @starloom/coordination; not to be edited.

import type { Json } from '@starloom/core';
import type { CommonParams } from './common-params.ts';

export interface ToolCacheMethods {
  'tool_cache.get': {
    params: CommonParams & {
      tool: string;
      params?: Json | undefined;
      tool_version?: string | undefined;
      scope?: 'principal' | 'agent' | 'session' | undefined;
      session_id?: string | undefined;
      claim?: boolean | undefined;
      claim_ttl_ms?: number | undefined;
      wait_ms?: number | undefined;
    };
    result: {
      hit: boolean;
      result?: Json | undefined;
      at?: number | undefined;
      agent_id?: string | undefined;
      since?: number | undefined;
      claim?: number | undefined;
      expires_at?: number | undefined;
      computing?: boolean | undefined;
    };
  };
  'tool_cache.put': {
    params: CommonParams & {
      tool: string;
      params?: Json | undefined;
      tool_version?: string | undefined;
      result: Json;
      ttl_ms?: number | undefined;
      tags?: string[] | undefined;
      dependencies?: string[] | undefined;
      since?: number | undefined;
      scope?: 'principal' | 'agent' | 'session' | undefined;
      session_id?: string | undefined;
      claim?: number | undefined;
    };
    result: { stored: boolean; key: string };
  };
  'tool_cache.abandon': {
    params: CommonParams & {
      tool: string;
      params?: Json | undefined;
      tool_version?: string | undefined;
      scope?: 'principal' | 'agent' | 'session' | undefined;
      session_id?: string | undefined;
      claim: number;
    };
    result: { abandoned: boolean };
  };
  'tool_cache.invalidate': {
    params: CommonParams & {
      tool?: string | undefined;
      params?: Json | undefined;
      tool_version?: string | undefined;
      tags?: string[] | undefined;
      dependencies?: string[] | undefined;
      scope?: 'principal' | 'agent' | 'session' | undefined;
      session_id?: string | undefined;
    };
    result: { invalidated: number };
  };
  'tool_cache.stats': {
    params: CommonParams & {
      scope?: 'principal' | 'agent' | 'session' | undefined;
      session_id?: string | undefined;
      reset?: boolean | undefined;
    };
    result: {
      entries: number;
      bytes: number;
      hits: number;
      misses: number;
      hit_rate: number;
      puts: number;
      invalidated: number;
      evicted: number;
    };
  };
}
