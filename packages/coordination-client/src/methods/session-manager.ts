// Written by "npm run docs" from the methods of @starloom/coordination; not to be edited.

import type { JsonObject } from '@starloom/core';
import type { CommonParams } from './common-params.ts';

export interface SessionManagerMethods {
  'session_manager.create': {
    params: CommonParams & {
      session_id?: string | undefined;
      metadata?: JsonObject | undefined;
      mode?: 'lock' | 'cas' | undefined;
      ttl_ms?: number | undefined;
      open?: boolean | undefined;
      access?:
        | {
            agents?: Record<string, 'reader' | 'writer' | 'owner'> | undefined;
            principals?: Record<string, 'reader' | 'writer' | 'owner'> | undefined;
          }
        | undefined;
    };
    result: { session_id: string; mode: 'lock' | 'cas' };
  };
  'session_manager.join': {
    params: CommonParams & { session_id: string; role?: 'reader' | 'writer' | 'owner' | undefined };
    result: {
      session_id: string;
      mode: 'lock' | 'cas';
      state: 'active' | 'suspended' | 'ended';
      role: 'reader' | 'writer' | 'owner';
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
      mode: 'lock' | 'cas';
      state: 'active' | 'suspended' | 'ended';
      role: 'reader' | 'writer' | 'owner';
      metadata: JsonObject;
      created_at: number;
      created_by: string;
      ttl_ms: number;
      open: boolean;
      access: {
        agents: Record<string, 'reader' | 'writer' | 'owner'>;
        principals: Record<string, 'reader' | 'writer' | 'owner'>;
      };
      parent: { session_id: string; version: number } | null;
      members: {
        agent_id: string;
        role: 'reader' | 'writer' | 'owner';
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
    params: CommonParams & { state?: 'active' | 'suspended' | 'ended' | undefined };
    result: {
      sessions: {
        session_id: string;
        mode: 'lock' | 'cas';
        state: 'active' | 'suspended' | 'ended';
        role: 'reader' | 'writer' | 'owner';
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
      role: 'reader' | 'writer' | 'owner';
    };
    result: {
      session_id: string;
      access: {
        agents: Record<string, 'reader' | 'writer' | 'owner'>;
        principals: Record<string, 'reader' | 'writer' | 'owner'>;
      };
    };
  };
  'session_manager.revoke': {
    params: CommonParams & {
      session_id: string;
      member?: string | undefined;
      principal?: string | undefined;
    };
    result: {
      session_id: string;
      access: {
        agents: Record<string, 'reader' | 'writer' | 'owner'>;
        principals: Record<string, 'reader' | 'writer' | 'owner'>;
      };
    };
  };
  'session_manager.suspend': {
    params: CommonParams & { session_id: string };
    result: { session_id: string; state: 'active' | 'suspended' | 'ended' };
  };
  'session_manager.resume': {
    params: CommonParams & { session_id: string; checkpoint_id?: string | undefined };
    result: { session_id: string; state: 'active' | 'suspended' | 'ended' };
  };
  'session_manager.checkpoint': {
    params: CommonParams & { session_id: string; name?: string | undefined };
    result: {
      checkpoint_id: string;
      name: string | null;
      version: number;
      keys: number;
      agent_id: string;
      at: number;
    };
  };
  'session_manager.checkpoints': {
    params: CommonParams & { session_id: string };
    result: {
      checkpoints: {
        checkpoint_id: string;
        name: string | null;
        version: number;
        keys: number;
        agent_id: string;
        at: number;
      }[];
    };
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
      mode?: 'lock' | 'cas' | undefined;
      ttl_ms?: number | undefined;
    };
    result: {
      session_id: string;
      mode: 'lock' | 'cas';
      parent: { session_id: string; version: number } | null;
    };
  };
}
