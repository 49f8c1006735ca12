// Written by "npm run docs" from the methods of @starloom/coordination; not to be edited.

import type { JsonObject } from '@starloom/core';
import type { CommonParams } from './common-params.ts';

export interface AgentRegistryMethods {
  'agent_registry.register': {
    params: CommonParams & {
      agent_id: string;
      capabilities: (
        | string
        | {
            name: string;
            version?: string | undefined;
            description?: string | undefined;
            parameters?: JsonObject | undefined;
          }
      )[];
      name?: string | undefined;
      metadata?: JsonObject | undefined;
    };
    result: { agent_id: string; epoch: number; heartbeat_interval_ms: number };
  };
  'agent_registry.heartbeat': {
    params: CommonParams & { status?: 'active' | 'idle' | 'busy' | 'draining' | undefined };
    result: { status: 'active' | 'idle' | 'busy' | 'draining' | 'inactive'; next_before: number };
  };
  'agent_registry.unregister': {
    params: CommonParams & { leave?: boolean | undefined };
    result: { unregistered: true };
  };
  'agent_registry.get': {
    params: CommonParams & { agent_id: string };
    result: {
      agent_id: string;
      name: string;
      capabilities: {
        name: string;
        version?: string | undefined;
        description?: string | undefined;
        parameters?: JsonObject | undefined;
      }[];
      metadata: JsonObject;
      status: 'active' | 'idle' | 'busy' | 'draining' | 'inactive';
      epoch: number;
      registered_at: number;
      last_seen: number;
      source: 'registered' | 'joined' | 'gateway';
    };
  };
  'agent_registry.list': {
    params: CommonParams & {
      status?: 'active' | 'idle' | 'busy' | 'draining' | 'inactive' | undefined;
      session_id?: string | undefined;
    };
    result: {
      agents: {
        agent_id: string;
        name: string;
        capabilities: {
          name: string;
          version?: string | undefined;
          description?: string | undefined;
          parameters?: JsonObject | undefined;
        }[];
        metadata: JsonObject;
        status: 'active' | 'idle' | 'busy' | 'draining' | 'inactive';
        epoch: number;
        registered_at: number;
        last_seen: number;
        source: 'registered' | 'joined' | 'gateway';
      }[];
    };
  };
  'agent_registry.find': {
    params: CommonParams & { capability: string };
    result: {
      agents: {
        agent_id: string;
        name: string;
        capabilities: {
          name: string;
          version?: string | undefined;
          description?: string | undefined;
          parameters?: JsonObject | undefined;
        }[];
        metadata: JsonObject;
        status: 'active' | 'idle' | 'busy' | 'draining' | 'inactive';
        epoch: number;
        registered_at: number;
        last_seen: number;
        source: 'registered' | 'joined' | 'gateway';
      }[];
    };
  };
}
