// One pool for our tables and for pg-boss, so that both can be written in one transaction. Errors of the
// connection become OVERLOADED: the caller may try again.

import { FabricError } from '@starloom/core';
import type { Pool, PoolClient, QueryResultRow } from 'pg';

/** What pg-boss needs of a connection, and what we do. */
export interface DatabaseSession {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: QueryResultRow[] }>;
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
  #sessionStatements: readonly string[] = [];
  readonly #prepared = new WeakSet<PoolClient>();

  private constructor(pool: Pool) {
    this.#pool = pool;
  }

  static async open({ url, maxConnections, onError }: DatabaseOptions): Promise<Database> {
    const { default: pg } = await import('pg');
    const pool = new pg.Pool({
      connectionString: url,
      max: maxConnections,
      connectionTimeoutMillis: CONNECT_MS,
      application_name: 'starloom',
    });
    pool.on('error', onError);
    // A connection that breaks while it is in use says so twice: to its query, and here.
    pool.on('connect', (client) => client.on('error', onError));
    return new Database(pool);
  }

  async executeSql(text: string, values?: unknown[]) {
    try {
      return await this.#execute(text, values);
    } catch (error) {
      throw toEngineError(error);
    }
  }

  /** For pg-boss, which reads the errors of Postgres itself. */
  get raw() {
    return {
      executeSql: (text: string, values?: unknown[]) => this.#execute(text, values),
      setSessionStatements: (statements: string[]) => this.setSessionStatements(statements),
    };
  }

  /** Does the work while no other gateway does such work. */
  async exclusively<Result>(lock: number, work: () => Promise<Result>): Promise<Result> {
    const client = await this.#connect();
    try {
      await client.query('SELECT pg_advisory_lock($1)', [lock]);
      return await work();
    } catch (error) {
      throw toEngineError(error);
    } finally {
      // Ends the connection, and the lock with it.
      client.release(true);
    }
  }

  /** For the clock of tests: each connection runs them first. */
  async setSessionStatements(statements: string[]): Promise<void> {
    this.#sessionStatements = statements;
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

  async #execute(text: string, values?: unknown[]) {
    const client = await this.#connect();
    try {
      return await query(client, text, values);
    } finally {
      client.release();
    }
  }

  async #transactOnce<Result>(
    work: (session: DatabaseSession) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.#connect();
    let failure: Error | undefined;
    try {
      await client.query('BEGIN');
      const result = await work({ executeSql: (text, values) => query(client, text, values) });
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
    let client: PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      throw unavailable(error);
    }
    if (this.#sessionStatements.length > 0 && !this.#prepared.has(client)) {
      for (const statement of this.#sessionStatements) await client.query(statement);
      this.#prepared.add(client);
    }
    return client;
  }
}

/** Several statements in one text give a list of results; the last one counts. */
async function query(client: PoolClient, text: string, values?: unknown[]) {
  const result: { rows: QueryResultRow[] } | { rows: QueryResultRow[] }[] = await client.query(
    text,
    values,
  );
  return Array.isArray(result) ? (result.at(-1) ?? { rows: [] }) : result;
}

/** Deadlock and serialization failure. */
function isConflict(error: unknown): boolean {
  return ['40P01', '40001'].includes(codeOf(error) ?? '');
}

export function toEngineError(error: unknown): FabricError {
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
