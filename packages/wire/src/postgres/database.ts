// One pool of connections to Postgres. Errors of the connection become OVERLOADED: the caller may try again.

import { FabricError } from '@starloom/core';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { codeOf } from '../own-file.ts';
import { failure } from '../reasons.ts';

export interface DatabaseSession {
  /** The rows; none when the text has several statements. */
  query(text: string, values?: unknown[]): Promise<QueryResultRow[]>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** What it is to people, such as "job database". */
  readonly what: string;
  /** How its connections are named in the server. */
  readonly application: string;
  readonly maxConnections: number;
  readonly onError: (error: unknown) => void;
}

const CONNECT_MS = 5_000;
const MAX_TRIES = 5;

export class Database implements DatabaseSession {
  readonly #pool: Pool;
  readonly #what: string;

  private constructor(pool: Pool, what: string) {
    this.#pool = pool;
    this.#what = what;
  }

  /** Connects with the first query. */
  static async open(options: DatabaseOptions): Promise<Database> {
    const { url, what, application, maxConnections, onError } = options;
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({
      connectionString: url,
      max: maxConnections,
      connectionTimeoutMillis: CONNECT_MS,
      application_name: application,
    });
    pool.on('error', onError);
    // A connection that breaks while it is in use fails its query, and emits an error here.
    pool.on('connect', (client) => client.on('error', onError));
    return new Database(pool, what);
  }

  async query(text: string, values?: unknown[]): Promise<QueryResultRow[]> {
    try {
      const { rows } = await this.#pool.query(text, values);
      return rows;
    } catch (error) {
      throw toEngineError(error, this.#what);
    }
  }

  /**
   * One transaction; repeated as a whole when Postgres ended it for the sake of another one. Nothing of
   * it happened when it rejects, except when the connection broke during the commit.
   */
  async transact<Result>(work: (session: DatabaseSession) => Promise<Result>): Promise<Result> {
    for (let left = MAX_TRIES; ; left -= 1) {
      try {
        return await this.#transactOnce(work);
      } catch (error) {
        if (left <= 1 || !isConflict(error)) throw toEngineError(error, this.#what);
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
      throw unavailable(error, this.#what);
    }
  }
}

/** Deadlock and serialization failure. */
function isConflict(error: unknown): boolean {
  return ['40P01', '40001'].includes(codeOf(error) ?? '');
}

function toEngineError(error: unknown, what: string): FabricError {
  if (FabricError.is(error)) return error;
  const code = codeOf(error) ?? '';
  if (code === '53100') {
    return failure('disk_full/postgres', { what }, { cause: error });
  }
  // A statement that is wrong in itself (classes 22, 23 and 42) is a bug, not an outage.
  if (/^(22|23|42)/.test(code)) return FabricError.from(error);
  return unavailable(error, what);
}

function unavailable(cause: unknown, what: string): FabricError {
  return failure('engine_unavailable', { what }, { cause });
}
