// One pool. Errors of the connection become OVERLOADED: the caller may try again.

import { FabricError } from '@starloom/core';
import type { Pool, PoolClient, QueryResultRow } from 'pg';

export interface DatabaseSession {
  /** The rows; none when the text has several statements. */
  query(text: string, values?: unknown[]): Promise<QueryResultRow[]>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly maxConnections: number;
  readonly onError: (error: unknown) => void;
}

const CONNECT_MS = 5_000;
const MOST_TRIES = 5;

export class Database implements DatabaseSession {
  readonly #pool: Pool;

  private constructor(pool: Pool) {
    this.#pool = pool;
  }

  static async open({ url, maxConnections, onError }: DatabaseOptions): Promise<Database> {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({
      connectionString: url,
      max: maxConnections,
      connectionTimeoutMillis: CONNECT_MS,
      application_name: 'starloom-jobs',
    });
    pool.on('error', onError);
    // A connection that breaks while it is in use says so twice: to its query, and here.
    pool.on('connect', (client) => client.on('error', onError));
    return new Database(pool);
  }

  async query(text: string, values?: unknown[]): Promise<QueryResultRow[]> {
    try {
      const { rows } = await this.#pool.query(text, values);
      return rows;
    } catch (error) {
      throw toEngineError(error);
    }
  }

  /**
   * One transaction; repeated as a whole when Postgres ended it for the sake of another one. Nothing of
   * it happened when it rejects, except when the connection broke during the commit.
   */
  async transact<Result>(work: (session: DatabaseSession) => Promise<Result>): Promise<Result> {
    for (let left = MOST_TRIES; ; left -= 1) {
      try {
        return await this.#transactOnce(work);
      } catch (error) {
        if (left <= 1 || !isConflict(error)) throw toEngineError(error);
      }
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #transactOnce<Result>(
    work: (session: DatabaseSession) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.#connect();
    let failure: Error | undefined;
    try {
      await client.query('BEGIN');
      const query = async (text: string, values?: unknown[]) =>
        (await client.query(text, values)).rows ?? [];
      const result = await work({ query });
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((cause: Error) => {
        failure = cause;
      });
      throw error;
    } finally {
      client.release(failure);
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw unavailable(error);
    }
  }
}

/** Deadlock and serialization failure. */
function isConflict(error: unknown): boolean {
  return ['40P01', '40001'].includes(codeOf(error) ?? '');
}

function toEngineError(error: unknown): FabricError {
  if (FabricError.is(error)) return error;
  const code = codeOf(error) ?? '';
  if (code === '53100') {
    return new FabricError('OVERLOADED', 'The disk of the job database is full', {
      details: { reason: 'disk_full', fix: 'Free space on the disk of Postgres' },
      cause: error,
    });
  }
  // A statement that is wrong in itself (classes 22, 23 and 42) is a bug, not an outage.
  if (/^(22|23|42)/.test(code)) return FabricError.from(error);
  return unavailable(error);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function unavailable(cause: unknown): FabricError {
  return new FabricError('OVERLOADED', 'The job database cannot be reached', {
    details: { reason: 'engine_unavailable', fix: 'Check that Postgres runs, then try again' },
    cause,
  });
}
