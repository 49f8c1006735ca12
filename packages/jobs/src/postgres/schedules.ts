// Calls at certain times. pg-boss says when one is due, while a gateway runs; a time that passed while
// none did is found when the schedule is taken over again, and becomes one job.

import { createTrace, type JobSchedule, type NewJob } from '@starloom/core';
import { nextCron } from '../next-cron.ts';
import { createJob } from '../transitions.ts';
import type { BossQueue } from './boss-queue.ts';
import type { Creations } from './creations.ts';
import type { Database, DatabaseSession } from './database.ts';
import { SCHEMA_NAME as S } from './schema.ts';

/** What is due for a shorter time is left to pg-boss. */
const MISSED_MS = 60_000;

interface ScheduleRow {
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly job: string;
  /** bigint */
  readonly fired_at: string;
}

export class Schedules {
  readonly #database: Database;
  readonly #queue: BossQueue;
  readonly #creations: Creations;

  constructor(database: Database, queue: BossQueue, creations: Creations) {
    this.#database = database;
    this.#queue = queue;
    this.#creations = creations;
  }

  async put({ name, cron, timezone = 'UTC', job }: JobSchedule, now: number): Promise<void> {
    nextCron(cron, timezone, now);
    await this.#database.transact(async (session) => {
      await session.executeSql(
        `INSERT INTO ${S}.schedule AS known (name, cron, timezone, job, fired_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (name) DO UPDATE SET cron = $2, timezone = $3, job = $4, fired_at =
           CASE WHEN (known.cron, known.timezone) = ($2, $3) THEN known.fired_at ELSE $5 END`,
        [name, cron, timezone, JSON.stringify(job), now],
      );
      const [row] = await this.#read(session, name);
      const isMissed = row && nextCron(cron, timezone, Number(row.fired_at)) < now - MISSED_MS;
      if (isMissed) await this.fire(session, name, now);
    });
    await this.#queue.schedule(name, cron, timezone);
  }

  async remove(name: string): Promise<void> {
    await this.#queue.unschedule(name);
    await this.#database.executeSql(`DELETE FROM ${S}.schedule WHERE name = $1`, [name]);
  }

  async list() {
    const all = await this.#read(this.#database);
    return all.map(({ name, cron, timezone }) => ({ name, cron, timezone }));
  }

  /** Creates the job of a schedule that is due. */
  async fire(session: DatabaseSession, name: string, now: number): Promise<void> {
    const [row] = await this.#read(session, name);
    if (row === undefined) return;
    const input = JSON.parse(row.job) as NewJob;
    // Each is a call of its own.
    const job = createJob({ ...input, trace: createTrace() }, crypto.randomUUID(), now);
    await this.#creations.insert(session, [{ job, call: JSON.stringify(input.call ?? null) }]);
    const sql = `UPDATE ${S}.schedule SET fired_at = greatest(fired_at, $2) WHERE name = $1`;
    await session.executeSql(sql, [name, now]);
  }

  async #read(session: DatabaseSession, name?: string): Promise<ScheduleRow[]> {
    const { rows } = await session.executeSql(
      `SELECT * FROM ${S}.schedule WHERE $1::text IS NULL OR name = $1 ORDER BY name`,
      [name ?? null],
    );
    return rows as ScheduleRow[];
  }
}
