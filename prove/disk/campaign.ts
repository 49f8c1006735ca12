// A gateway on a disk of a few megabytes. Callers with narrow keys store jobs and coordination data
// until they are refused, then another program takes every block that is left. Meanwhile a client calls
// an agent, an operator revokes keys, an owner cancels jobs, and the gateway is killed and started again.

import { once } from 'node:events';
import { readdirSync, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runProgram } from '@starloom/testkit';
import {
  LAUNCHER,
  type RunningGateway,
  startGatewayIn,
  worldEnvironment,
  writeWorld,
} from '../../test/support/start-gateway.ts';
import { ask, type Called, post, readCalled, toolCall } from '../abuse/http-client.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';

export interface CampaignOptions {
  readonly megabytes: number;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

export interface Check {
  readonly name: string;
  /** What was seen instead. */
  readonly problem?: string;
}

export interface CampaignResult {
  readonly checks: readonly Check[];
  readonly figures: Readonly<Record<string, number>>;
  readonly operations: number;
  readonly faults: number;
}

const HOARDERS = ['one', 'two', 'three', 'four', 'five', 'six'];
const PAYLOAD_BYTES = 48 * 1024;
/** The file system takes some of the disk for itself. */
const FILE_SYSTEM_BYTES = 256 * 1024;
const MONTH_MS = 30 * 24 * 3_600_000;
/** Hang guards, not measures. */
const PATIENCE_MS = 30_000;
const MAX_REQUESTS = 2_000;

/** The reason in words where there can be no small disk. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult | string> {
  const { megabytes, signal, tell } = options;
  await using opened = new AsyncDisposableStack();
  const agent = await startAgent();
  opened.defer(agent.close);
  const endpoint = { transport: 'http', protocol: 'http', uri: agent.uri } as const;
  const capabilities = [{ name: 'say', streaming: false, modalities: ['text' as const] }];
  const manifest = { agent_id: 'echo', version: '1', endpoint, capabilities, trust_tier: 'local' };
  const folder = opened.use(await writeWorld({ agents: [manifest as never] }));
  const disk = mountSmallDisk(join(folder.path, 'state'), megabytes);
  if (typeof disk === 'string') return disk;
  opened.use(disk);
  const world = new World(folder.path, disk);
  opened.defer(() => world.stop());
  const steps = [store, fill, kill, cancel, free] as const;
  await world.start();
  for (const name of HOARDERS) await world.createKey(name, 'agent:echo', 'toolset:coordination');
  await world.updateContext('');
  const client = world.callOn(signal);
  for (const step of steps) {
    signal.throwIfAborted();
    await step(world);
    tell(`${step.name}: ${disk.free()} bytes free`);
  }
  await client.stop();
  world.check('the client is answered all the time', client.failures.length === 0, () =>
    client.failures.slice(0, 3).join('; '),
  );
  const { checks, figures, faults } = world;
  const operations = client.calls + world.requests;
  return { checks, figures: { ...figures, calls: client.calls }, operations, faults };
}

/** Until each caller is refused, and then the disk has room that is kept back. */
async function store(world: World): Promise<void> {
  const refusals = new Set<string>();
  for (const name of HOARDERS) {
    const refused = await world.hoard(name);
    refusals.add(refused);
    if (refused === 'disk_full') break;
  }
  const [first = ''] = HOARDERS;
  const stored = world.jobsOf(first).length * PAYLOAD_BYTES;
  world.figures.jobs_stored = HOARDERS.flatMap((name) => world.jobsOf(name)).length;
  world.check('one caller is refused by its quota', refusals.has('job_bytes_quota'), () =>
    [...refusals].join(),
  );
  world.check(
    'one caller takes at most a quarter of the disk',
    stored <= (world.megabytes * 1024 ** 2) / 4,
    () => `${stored} bytes`,
  );
  world.check('new jobs are refused before the disk is full', refusals.has('disk_full'), () =>
    [...refusals].join(),
  );
  const written = await world.hoardContext();
  world.check('coordination refuses what fills the disk', written === 'disk_full', () => written);
  const kept = (world.megabytes * 1024 ** 2) / 16;
  const left = world.disk.free();
  world.check('room is kept back', left >= kept, () => `${left} of ${kept} bytes`);
}

/** Another program takes what is left: then keys are revoked and jobs are cancelled. */
async function fill(world: World): Promise<void> {
  world.fill();
  await world.revoke('one', 'a key is revoked on a full disk');
  const [job = ''] = world.jobsOf('two');
  const cancelled = await world.tool('two', 'fabric.job.cancel', { job_id: job });
  world.check('a job is cancelled on a full disk', cancelled?.ok === true, () => show(cancelled));
  await world.checkHealth();
  await world.checkAudit('the audit log is intact on a full disk');
}

async function kill(world: World): Promise<void> {
  world.fill();
  world.faults += 1;
  await world.crash();
  await world.start();
  const again = await world.isRefused('one');
  world.check('a revoked key stays revoked over a restart', again, () => 'it works');
  await world.revoke('three', 'a key is revoked after a restart on a full disk');
  await world.checkHealth();
}

async function cancel(world: World): Promise<void> {
  const before = world.disk.free();
  let freed = 0;
  for (const name of ['two', 'four', 'five']) {
    for (const job_id of world.jobsOf(name)) {
      const answer = await world.tool(name, 'fabric.job.cancel', { job_id });
      if (answer?.ok) freed += PAYLOAD_BYTES;
    }
  }
  const gained = world.disk.free() - before;
  world.figures.bytes_freed_by_cancelling = gained;
  // An eighth of the disk is kept free. With that the file keeps its free pages, for jobs to come.
  const kept = (world.megabytes * 1024 ** 2) / 8 - FILE_SYSTEM_BYTES;
  const isGivenBack = gained >= Math.min(freed / 2, kept);
  world.check('cancelled jobs give their room back', isGivenBack, () => {
    return `${gained} of ${freed} bytes`;
  });
}

async function free(world: World): Promise<void> {
  world.disk.empty();
  const began = performance.now();
  const stored = await world.until(async () => {
    const args = { agent_id: 'echo', capability: 'say', task: 'now', async: true };
    return (await world.tool('six', 'fabric.call', args))?.ok === true;
  });
  world.check('jobs are taken again by themselves', stored, () => 'they are not');
  const updated = await world.until(async () => (await world.updateContext('small')) === undefined);
  world.check('coordination works again by itself', updated, () => 'it does not');
  world.figures.recovery_ms = Math.round(performance.now() - began);
  await world.checkAudit('the audit log is intact afterwards');
  const locks = world.files().filter((name) => name.endsWith('.lock'));
  world.check('no lock file is left', locks.length === 0, () => locks.join());
  const open = world.files().filter((path) => (statSync(path).mode & 0o077) !== 0);
  world.check('every file is for its owner alone', open.length === 0, () => open.join());
}

class World {
  readonly disk: SmallDisk;
  readonly checks: Check[] = [];
  readonly figures: Record<string, number> = {};
  faults = 0;
  requests = 0;
  readonly #folder: string;
  readonly #keys = new Map<string, string>();
  readonly #jobs = new Map<string, string[]>();
  #gateway: RunningGateway | undefined;
  #restarts = 0;

  constructor(folder: string, disk: SmallDisk) {
    this.#folder = folder;
    this.disk = disk;
  }

  get megabytes(): number {
    return Math.round(statfsOf(this.disk) / 1024 ** 2);
  }

  get url(): string {
    return this.#gateway?.url.replace(/\/mcp$/, '') ?? '';
  }

  check(name: string, holds: boolean, problem: () => string): void {
    this.checks.push(holds ? { name } : { name, problem: problem() });
  }

  fill(): void {
    this.faults += 1;
    this.disk.fill();
  }

  async start(): Promise<void> {
    // The folder is ours: it outlives this process.
    const folder = { path: this.#folder, [Symbol.asyncDispose]: async () => {} };
    this.#gateway = await startGatewayIn(folder);
    this.#keys.set('local', this.#gateway.key);
  }

  async crash(): Promise<void> {
    const gateway = this.#gateway;
    this.#gateway = undefined;
    this.#restarts += 1;
    if (gateway) process.kill(gateway.pid, 'SIGKILL');
    await gateway?.[Symbol.asyncDispose]();
  }

  async stop(): Promise<void> {
    await this.#gateway?.[Symbol.asyncDispose]();
    this.#gateway = undefined;
  }

  async createKey(name: string, ...scopes: readonly string[]): Promise<void> {
    const args = ['keys', 'create', name, ...scopes.flatMap((scope) => ['--scope', scope])];
    const { key } = JSON.parse((await this.#command(...args, '--json')).stdout) as { key: string };
    this.#keys.set(name, key);
    const isKnown = () => this.isRefused(name).then((refused) => !refused);
    if (!(await this.until(isKnown))) throw new Error(`the key ${name} is not taken`);
  }

  async revoke(name: string, check: string): Promise<void> {
    const { code, stderr } = await this.#command('keys', 'revoke', name);
    const isGone = code === 0 && (await this.until(() => this.isRefused(name)));
    this.check(check, isGone, () => `exit ${code}: ${stderr.trim()}`);
  }

  async isRefused(name: string): Promise<boolean> {
    const body = toolCall('fabric.agent.list', {});
    const { status } = await post(this.url, { key: this.#keys.get(name), body });
    return status === 401;
  }

  async tool(name: string, tool: string, args: object): Promise<Called | undefined> {
    this.requests += 1;
    return readCalled(
      await post(this.url, { key: this.#keys.get(name), body: toolCall(tool, args) }),
    );
  }

  jobsOf(name: string): readonly string[] {
    return this.#jobs.get(name) ?? [];
  }

  /** Jobs for next month until one is refused; the reason. */
  async hoard(name: string): Promise<string> {
    const run_at = new Date(Date.now() + MONTH_MS).toISOString();
    const task = 'x'.repeat(PAYLOAD_BYTES);
    const kept: string[] = [];
    this.#jobs.set(name, kept);
    for (let left = MAX_REQUESTS; left > 0; left -= 1) {
      const args = { agent_id: 'echo', capability: 'say', task, async: true, run_at };
      const answer = (await this.tool(name, 'fabric.call', args)) as Called & { job_id?: string };
      if (answer?.job_id === undefined)
        return String(answer?.error?.details?.reason ?? show(answer));
      kept.push(answer.job_id);
    }
    return 'never';
  }

  /** Large values until one is refused; the reason. */
  async hoardContext(): Promise<string> {
    const large = 'y'.repeat(PAYLOAD_BYTES);
    for (let left = 20; left > 0; left -= 1) {
      const refused = await this.updateContext(large);
      if (refused !== undefined) return refused;
    }
    return 'never';
  }

  /** Undefined when it was taken, else the reason. */
  async updateContext(value: string): Promise<string | undefined> {
    const key = this.#keys.get('six') ?? '';
    const session = { session_id: 'shared', agent_id: 'six' };
    const ask_ = (method: string, params: object) => {
      this.requests += 1;
      return ask(this.url, key, method, params) as Promise<{
        error?: { data?: { reason?: string } };
      }>;
    };
    if (value === '') await ask_('session_manager.create', { ...session, mode: 'cas' });
    const { error } = await ask_('context_coordinator.update', {
      ...session,
      update: { value: `${value}${crypto.randomUUID()}` },
    });
    return error && (error.data?.reason ?? show(error));
  }

  async checkHealth(): Promise<void> {
    const health = (await this.tool('local', 'fabric.health', {})) as unknown as {
      readonly engines?: Readonly<Record<string, { readonly status: string }>>;
    };
    const { coordination, jobs } = health?.engines ?? {};
    const isSaid = jobs?.status === 'offline' && coordination?.status !== 'ok';
    this.check('health says what is off', isSaid, () => show(health?.engines));
  }

  async checkAudit(name: string): Promise<void> {
    const { stdout, stderr } = await this.#command('audit', 'verify', '--json');
    this.check(name, stdout.includes('"intact":true'), () => stdout + stderr);
  }

  files(): readonly string[] {
    const names = readdirSync(this.disk.path, { recursive: true }) as string[];
    return names.map((name) => join(this.disk.path, name));
  }

  async until(holds: () => Promise<boolean>): Promise<boolean> {
    const deadline = performance.now() + PATIENCE_MS;
    while (performance.now() < deadline) {
      if (await holds()) return true;
      await delay(50);
    }
    return false;
  }

  /** Calls the agent all the time; a call that meets a restart is made again. */
  callOn(signal: AbortSignal) {
    const failures: string[] = [];
    const about = { calls: 0, failures, stop: async () => {} };
    let isStopped = false;
    const calling = (async () => {
      const body = toolCall('fabric.call', { agent_id: 'echo', capability: 'say', task: 'hello' });
      while (!isStopped && !signal.aborted) {
        await delay(20);
        const restarts = this.#restarts;
        if (this.#gateway === undefined) continue;
        const answer = await post(this.url, { key: this.#keys.get('local'), body });
        const isDown = this.#gateway === undefined || restarts !== this.#restarts;
        if (isDown) continue;
        about.calls += 1;
        if (readCalled(answer)?.ok !== true)
          failures.push(`${answer.status} ${answer.text.slice(0, 300)}`);
      }
    })();
    about.stop = async () => {
      isStopped = true;
      await calling;
    };
    return about;
  }

  #command(...args: readonly string[]) {
    return runProgram({
      command: process.execPath,
      args: [LAUNCHER, ...args],
      cwd: this.#folder,
      env: worldEnvironment(this.#folder),
    });
  }
}

async function startAgent() {
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end('{"answer":"hello"}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  return { uri: `http://127.0.0.1:${port}`, close };
}

function statfsOf({ path }: SmallDisk): number {
  const { blocks, bsize } = statfsSync(path);
  return blocks * bsize;
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 300) ?? 'nothing';
}
