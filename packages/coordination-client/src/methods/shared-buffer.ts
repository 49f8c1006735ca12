// Written by "npm run docs" from the methods of @starloom/coordination; not to be edited.

import type { JsonObject } from '@starloom/core';
import type { CommonParams } from './common-params.ts';

export interface SharedBufferMethods {
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
