// Written by "npm run docs" from the methods of @starloom/coordination; not to be edited.

import type { Json, JsonObject } from '@starloom/core';

/** What any request may carry. */
type CommonParams = {
  agent_id?: string | undefined;
  epoch?: number | undefined;
  idempotency_key?: string | undefined;
  trace_id?: string | undefined;
};

type AgentCapability = {
  name: string;
  version?: string | undefined;
  description?: string | undefined;
  parameters?: JsonObject | undefined;
};
type AgentState = 'active' | 'idle' | 'busy' | 'draining' | 'inactive';
type Agent = {
  agent_id: string;
  name: string;
  capabilities: AgentCapability[];
  metadata: JsonObject;
  status: AgentState;
  epoch: number;
  registered_at: number;
  last_seen: number;
  source: 'registered' | 'joined' | 'gateway';
  instance?: { node_id: string; epoch: number } | undefined;
};
type SessionMode = 'lock' | 'cas';
type Role = 'reader' | 'writer' | 'owner';
type SessionState = 'active' | 'suspended' | 'ended';
type SessionAccess = { agents: Record<string, Role>; principals: Record<string, Role> };
type Checkpoint = {
  checkpoint_id: string;
  name: string | null;
  version: number;
  keys: number;
  agent_id: string;
  at: number;
};
type LockMode = 'exclusive' | 'shared';
type Grant = { lock_token: number; expires_at: number; resource: string; mode: LockMode };
type LockInfo = {
  resource: string;
  mode: LockMode;
  holder: string;
  expires_at: number;
  lock_token?: number | undefined;
};
type CacheScope = 'principal' | 'agent' | 'session';

export interface Methods {
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
  'agent_registry.register': {
    params: CommonParams & {
      agent_id: string;
      capabilities: (string | AgentCapability)[];
      name?: string | undefined;
      metadata?: JsonObject | undefined;
      endpoint?: JsonObject | undefined;
      node_id?: string | undefined;
      trust_tier?: 'local' | 'org' | 'partner' | 'public' | undefined;
    };
    result: { agent_id: string; epoch: number; heartbeat_interval_ms: number };
  };
  'agent_registry.heartbeat': {
    params: CommonParams & { status?: 'active' | 'idle' | 'busy' | 'draining' | undefined };
    result: { status: AgentState; next_before: number };
  };
  'agent_registry.unregister': {
    params: CommonParams & { leave?: boolean | undefined };
    result: { unregistered: true };
  };
  'agent_registry.get': { params: CommonParams & { agent_id: string }; result: Agent };
  'agent_registry.list': {
    params: CommonParams & { status?: AgentState | undefined; session_id?: string | undefined };
    result: { agents: Agent[] };
  };
  'agent_registry.find': {
    params: CommonParams & { capability: string };
    result: { agents: Agent[] };
  };
  'session_manager.create': {
    params: CommonParams & {
      session_id?: string | undefined;
      metadata?: JsonObject | undefined;
      mode?: SessionMode | undefined;
      ttl_ms?: number | undefined;
      open?: boolean | undefined;
      access?:
        | {
            agents?: Record<string, Role> | undefined;
            principals?: Record<string, Role> | undefined;
          }
        | undefined;
    };
    result: { session_id: string; mode: SessionMode };
  };
  'session_manager.join': {
    params: CommonParams & { session_id: string; role?: Role | undefined };
    result: {
      session_id: string;
      mode: SessionMode;
      state: SessionState;
      role: Role;
      metadata: JsonObject;
      created_at: number;
      created_by: string;
      cursor: number;
    };
  };
  'session_manager.leave': {
    params: CommonParams & { session_id: string };
    result: { left: true; ended: boolean };
  };
  'session_manager.get': {
    params: CommonParams & { session_id: string };
    result: {
      session_id: string;
      mode: SessionMode;
      state: SessionState;
      role: Role;
      metadata: JsonObject;
      created_at: number;
      created_by: string;
      ttl_ms: number;
      open: boolean;
      access: SessionAccess;
      parent: { session_id: string; version: number } | null;
      members: {
        agent_id: string;
        role: Role;
        epoch: number;
        connected: boolean;
        joined_at: number;
        last_seen: number | null;
      }[];
      version: number;
      cursor: number;
    };
  };
  'session_manager.list': {
    params: CommonParams & { state?: SessionState | undefined };
    result: {
      sessions: {
        session_id: string;
        mode: SessionMode;
        state: SessionState;
        role: Role;
        metadata: JsonObject;
        created_at: number;
        created_by: string;
      }[];
    };
  };
  'session_manager.end': {
    params: CommonParams & { session_id: string };
    result: { session_id: string; state: 'ended' };
  };
  'session_manager.grant': {
    params: CommonParams & {
      session_id: string;
      member?: string | undefined;
      principal?: string | undefined;
      role: Role;
    };
    result: { session_id: string; access: SessionAccess };
  };
  'session_manager.revoke': {
    params: CommonParams & {
      session_id: string;
      member?: string | undefined;
      principal?: string | undefined;
    };
    result: { session_id: string; access: SessionAccess };
  };
  'session_manager.suspend': {
    params: CommonParams & { session_id: string };
    result: { session_id: string; state: SessionState };
  };
  'session_manager.resume': {
    params: CommonParams & { session_id: string; checkpoint_id?: string | undefined };
    result: { session_id: string; state: SessionState };
  };
  'session_manager.checkpoint': {
    params: CommonParams & { session_id: string; name?: string | undefined };
    result: Checkpoint;
  };
  'session_manager.checkpoints': {
    params: CommonParams & { session_id: string };
    result: { checkpoints: Checkpoint[] };
  };
  'session_manager.remove_checkpoint': {
    params: CommonParams & { session_id: string; checkpoint_id: string };
    result: { removed: boolean };
  };
  'session_manager.fork': {
    params: CommonParams & {
      session_id: string;
      new_session_id?: string | undefined;
      at_version?: number | undefined;
      checkpoint_id?: string | undefined;
      metadata?: JsonObject | undefined;
      mode?: SessionMode | undefined;
      ttl_ms?: number | undefined;
    };
    result: {
      session_id: string;
      mode: SessionMode;
      parent: { session_id: string; version: number } | null;
    };
  };
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
  'memory_locker.acquire': {
    params: CommonParams & {
      session_id: string;
      resource?: string | undefined;
      mode?: LockMode | undefined;
      ttl_ms?: number | undefined;
      wait_ms?: number | undefined;
      priority?: number | undefined;
      async?: boolean | undefined;
    };
    result: Grant | { queued: true; ticket: string; position: number };
  };
  'memory_locker.renew': {
    params: CommonParams & {
      session_id: string;
      resource?: string | undefined;
      lock_token: number;
      ttl_ms?: number | undefined;
    };
    result: Grant;
  };
  'memory_locker.release': {
    params: CommonParams & {
      session_id: string;
      resource?: string | undefined;
      lock_token: number;
    };
    result: { released: true };
  };
  'memory_locker.cancel': {
    params: CommonParams & { session_id: string; ticket: string };
    result: { cancelled: boolean };
  };
  'memory_locker.status': {
    params: CommonParams & {
      session_id: string;
      resource?: string | undefined;
      holder?: string | undefined;
      lock_token?: number | undefined;
    };
    result: {
      locked: boolean;
      locks: LockInfo[];
      waiting: {
        resource: string;
        mode: LockMode;
        holder: string;
        position: number;
        priority: number;
        since: number;
        ticket?: string | undefined;
      }[];
    };
  };
  'memory_locker.break': {
    params: CommonParams & {
      session_id: string;
      resource?: string | undefined;
      lock_token?: number | undefined;
      holder?: string | undefined;
    };
    result: { broken: LockInfo[] };
  };
  'tool_cache.get': {
    params: CommonParams & {
      tool: string;
      params?: Json | undefined;
      tool_version?: string | undefined;
      scope?: CacheScope | undefined;
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
      scope?: CacheScope | undefined;
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
      scope?: CacheScope | undefined;
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
      scope?: CacheScope | undefined;
      session_id?: string | undefined;
    };
    result: { invalidated: number };
  };
  'tool_cache.stats': {
    params: CommonParams & {
      scope?: CacheScope | undefined;
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
  'shared_buffer.put': {
    params: CommonParams & {
      session_id: string;
      content: string;
      encoding?: 'utf8' | 'base64' | undefined;
      media_type?: string | undefined;
      metadata?: JsonObject | undefined;
      retain?: boolean | undefined;
    };
    result: { chunk_id: string; bytes: number; media_type: string; deduplicated: boolean };
  };
  'shared_buffer.get': {
    params: CommonParams & {
      session_id: string;
      chunk_id: string;
      offset?: number | undefined;
      length?: number | undefined;
      encoding?: 'utf8' | 'base64' | undefined;
    };
    result: {
      content: string;
      encoding: 'utf8' | 'base64';
      media_type: string;
      bytes: number;
      metadata: JsonObject;
    };
  };
  'shared_buffer.list': {
    params: CommonParams & {
      session_id: string;
      by?: string | undefined;
      limit?: number | undefined;
    };
    result: {
      chunks: {
        chunk_id: string;
        bytes: number;
        media_type: string;
        encoding: 'utf8' | 'base64';
        metadata: JsonObject;
        agent_id: string;
        at: number;
        reads: number;
        used_at: number;
        references: string[];
      }[];
      total: number;
    };
  };
  'shared_buffer.evict': {
    params: CommonParams & {
      session_id: string;
      chunk_id?: string | undefined;
      bytes?: number | undefined;
    };
    result: { evicted: string[]; bytes: number };
  };
  'shared_buffer.stats': {
    params: CommonParams & { session_id: string; reset?: boolean | undefined };
    result: {
      chunks: number;
      bytes: number;
      references: number;
      hits: number;
      misses: number;
      hit_rate: number;
      deduplicated: number;
      evicted: number;
    };
  };
}
