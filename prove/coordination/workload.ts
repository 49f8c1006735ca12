// Clients at work on a few sessions, and what is to be known in the end: every key, every log, and
// every subscriber at the end of its log.

import { setTimeout as delay } from 'node:timers/promises';
import { FabricError, type Json } from '@starloom/core';
import type { Places } from './actions.ts';
import { runAgent } from './agent-loop.ts';
import { Client, toRead } from './client.ts';
import type { History, LogEntry } from './history.ts';
import type { Fields, OpenLink } from './link.ts';
import type { Random } from './random.ts';
import { Subscriber } from './subscriber.ts';

export interface WorkloadOptions {
  /** Sets its sessions and agents apart from those of other workloads. */
  readonly name: string;
  /** A way to the plane for the client of this number. */
  readonly open: (client: number) => OpenLink;
  readonly history: History;
  readonly random: Random;
  readonly clients: number;
  readonly subscribers: number;
  readonly lockMs: number;
}

const PAGE = 1_000;
const SETTLE_MS = 30_000;
const CONNECT_MS = 5_000;
const POLL_MS = 10;

export class Workload {
  readonly places: Places;
  readonly #options: WorkloadOptions;
  readonly #signal: AbortSignal;
  readonly #subscribers: readonly Subscriber[];
  readonly #auditor: Client;

  /** Gives up everything when the signal aborts. */
  constructor(options: WorkloadOptions, signal: AbortSignal) {
    const { name, open, history, subscribers } = options;
    this.#options = options;
    this.#signal = signal;
    this.places = {
      locked: [`${name}.locked`],
      free: [`${name}.free`, `${name}.too`],
      keys: ['k0', 'k1', 'k2', 'k3'],
      counters: ['n0', 'n1'],
    };
    const sessions = [...this.places.locked, ...this.places.free];
    this.#auditor = new Client({ agent: `${name}.auditor`, open: open(0), history, signal });
    this.#subscribers = Array.from({ length: subscribers }, (_, at) => {
      const agent = `${name}.subscriber${at}`;
      return new Subscriber({ agent, sessions, open: open(at), history, signal });
    });
  }

  async prepare(): Promise<void> {
    const { locked, free } = this.places;
    const create = async (session_id: string, mode: string) => {
      const params = { agent_id: this.#auditor.agent, session_id, mode };
      await this.#until(`session ${session_id}`, async () => {
        const answer = await this.#auditor.ask('session_manager.create', params);
        return (
          answer.kind === 'ok' || (answer.kind === 'refused' && answer.reason === 'session_exists')
        );
      });
    };
    for (const session of locked) await create(session, 'lock');
    for (const session of free) await create(session, 'cas');
    await Promise.all(this.#subscribers.map(({ client }) => client.link()));
  }

  /** Until `stop` aborts; then operations under way are brought to an end. */
  async run(stop: AbortSignal): Promise<void> {
    const { name, open, history, random, clients, lockMs } = this.#options;
    const signal = this.#signal;
    const agents = Array.from({ length: clients }, async (_, at) => {
      const agent = `${name}.agent${at}`;
      const client = new Client({ agent, open: open(at), history, signal });
      await runAgent({ client, random: random.fork(), places: this.places, lockMs, stop });
      client.disconnect();
    });
    const following = this.#subscribers.map(async (subscriber) => {
      const dice = random.fork();
      while (!stop.aborted) {
        if (dice.chance(0.02)) subscriber.client.disconnect();
        await subscriber.keepUp(stop).catch(() => undefined);
        await delay(POLL_MS);
      }
    });
    await Promise.all([...agents, ...following]);
  }

  /** Takes down how everything ended. The faults must be over. */
  async audit(): Promise<void> {
    const { history } = this.#options;
    const { locked, free, keys, counters } = this.places;
    for (const session of [...locked, ...free]) {
      await this.#return(session);
      for (const key of [...keys, ...counters]) await this.#read(session, key);
      const log = await this.#readLog(session);
      history.logs.set(session, log);
      const last = log.entries.at(-1)?.version ?? 0;
      for (const subscriber of this.#subscribers) {
        const isThere = async () => {
          await subscriber.keepUp(AbortSignal.timeout(CONNECT_MS)).catch(() => undefined);
          return subscriber.hasSettled(session, last);
        };
        await this.#until('a subscriber', isThere).catch(() => undefined);
      }
    }
    this.#auditor.disconnect();
    for (const { client } of this.#subscribers) client.disconnect();
  }

  /** The auditor sends no heartbeats: the session counts it as lost by now. */
  async #return(session_id: string): Promise<void> {
    const params = { agent_id: this.#auditor.agent, session_id };
    await this.#until(`the auditor in ${session_id}`, async () => {
      return (await this.#auditor.ask('session_manager.join', params)).kind === 'ok';
    });
  }

  async #read(session: string, key: string): Promise<void> {
    await this.#until(`${session} ${key}`, async () => {
      const outcome = await this.#auditor.perform({
        session,
        operation: { kind: 'read', key },
        method: 'context_coordinator.get',
        params: { keys: [key] },
        toResult: toRead(key),
      });
      return outcome.kind === 'ok';
    });
  }

  async #readLog(session_id: string) {
    const entries: LogEntry[] = [];
    const agent_id = this.#auditor.agent;
    let from = 0;
    for (let after = 0; ; ) {
      const page = await this.#page({ agent_id, session_id, after, limit: PAGE });
      if (page.snapshot_required) {
        const isAgain = from > 0;
        from = after = Number(page.cursor);
        if (isAgain) return { from, entries };
        continue;
      }
      const events = page.events as readonly Fields[];
      entries.push(...events.map(toEntry));
      if (events.length < PAGE) return { from, entries };
      after = Number(page.cursor);
    }
  }

  async #page(params: Fields): Promise<Fields> {
    let page: Fields = {};
    await this.#until('the log', async () => {
      const answer = await this.#auditor.ask('context_coordinator.history', params);
      if (answer.kind === 'ok') page = answer.result;
      return answer.kind === 'ok';
    });
    return page;
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + SETTLE_MS;
    while (!(await isSo())) {
      if (performance.now() > deadline) {
        const details = { reason: 'did_not_settle', what, fix: 'look at the log of the gateway' };
        throw new FabricError('TIMEOUT', `The plane did not come back: ${what}`, { details });
      }
      await delay(POLL_MS, undefined, { signal: this.#signal });
    }
  }
}

function toEntry({ version, cause, op, update }: Fields): LogEntry {
  const values = update as Readonly<Record<string, Json>>;
  return { version: Number(version), cause: String(cause), op: String(op), update: values };
}
