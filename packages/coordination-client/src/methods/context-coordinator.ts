// Written by "npm run docs" from the methods of @starloom/coordination; not to be edited.

import type { Json, JsonObject } from '@starloom/core';
import type { CommonParams } from './common-params.ts';

export interface ContextCoordinatorMethods {
  'context_coordinator.get': {
    params: CommonParams & {
      session_id: string;
      keys?: string[] | undefined;
      at_version?: number | undefined;
    };
    result: {
      context: JsonObject;
      version: number;
      versions: Record<string, number>;
      cursor: number;
    };
  };
  'context_coordinator.update': {
    params: CommonParams & {
      session_id: string;
      update: Json;
      op?: 'merge' | 'replace' | 'append' | 'patch' | 'increment' | undefined;
      lock_token?: number | undefined;
      with_lock?: boolean | undefined;
      if_version?: number | undefined;
      if_versions?: Record<string, number> | undefined;
      cause?: string | undefined;
    };
    result: { version: number; lock_token?: number | undefined };
  };
  'context_coordinator.subscribe': {
    params: CommonParams & {
      session_id: string;
      after?: number | undefined;
      keys?: string[] | undefined;
      authors?: string[] | undefined;
      types?: string[] | undefined;
    };
    result: { subscription_id: string; version: number; cursor: number };
  };
  'context_coordinator.unsubscribe': {
    params: CommonParams & {
      subscription_id?: string | undefined;
      session_id?: string | undefined;
    };
    result: { unsubscribed: boolean };
  };
  'context_coordinator.events': {
    params: CommonParams & {
      session_id: string;
      after?: number | undefined;
      limit?: number | undefined;
      keys?: string[] | undefined;
      authors?: string[] | undefined;
      types?: string[] | undefined;
    };
    result: {
      cursor: number;
      snapshot_required?: true | undefined;
      events: { [key: string]: unknown; type: string; version: number; at: number }[];
    };
  };
  'context_coordinator.history': {
    params: CommonParams & {
      session_id: string;
      after?: number | undefined;
      limit?: number | undefined;
      keys?: string[] | undefined;
      authors?: string[] | undefined;
    };
    result: {
      cursor: number;
      snapshot_required?: true | undefined;
      events: {
        agent_id: string;
        op: 'merge' | 'replace' | 'append' | 'patch' | 'increment';
        update: JsonObject;
        removed: string[];
        lock_token?: number | undefined;
        cause?: string | undefined;
        trace_id?: string | undefined;
        version: number;
        at: number;
      }[];
    };
  };
}
