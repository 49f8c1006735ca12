// Written by "npm run docs" from the methods of @starloom/coordination; not to be edited.

import type { CommonParams } from './common-params.ts';

export interface MemoryLockerMethods {
  'memory_locker.acquire': {
    params: CommonParams & {
      session_id: string;
      resource?: string | undefined;
      mode?: 'exclusive' | 'shared' | undefined;
      ttl_ms?: number | undefined;
      wait_ms?: number | undefined;
      priority?: number | undefined;
      async?: boolean | undefined;
    };
    result:
      | { lock_token: number; expires_at: number; resource: string; mode: 'exclusive' | 'shared' }
      | { queued: true; ticket: string; position: number };
  };
  'memory_locker.renew': {
    params: CommonParams & {
      session_id: string;
      resource?: string | undefined;
      lock_token: number;
      ttl_ms?: number | undefined;
    };
    result: {
      lock_token: number;
      expires_at: number;
      resource: string;
      mode: 'exclusive' | 'shared';
    };
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
      locks: {
        resource: string;
        mode: 'exclusive' | 'shared';
        holder: string;
        expires_at: number;
        lock_token?: number | undefined;
      }[];
      waiting: {
        resource: string;
        mode: 'exclusive' | 'shared';
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
    result: {
      broken: {
        resource: string;
        mode: 'exclusive' | 'shared';
        holder: string;
        expires_at: number;
        lock_token?: number | undefined;
      }[];
    };
  };
}
