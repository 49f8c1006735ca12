// Takes over the MCP servers of another client. Without --apply nothing is written; with it, all of
// them are written at once, or none.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { configError, placeOf } from '@starloom/config';
import { FabricError } from '@starloom/core';
import { writeOwnFile } from '@starloom/wire';
import {
  type ImportPlan,
  type PlannedServer,
  planImport,
  readClientFile,
} from '../import-servers/plan-import.ts';
import { failure } from '../reasons.ts';
import { count } from '../report-error.ts';
import { makeStateFolder, stateFolder } from '../state-folder.ts';
import type { Terminal } from '../terminal.ts';
import { paint, paintHealth, table, toOneLine } from '../terminal-text.ts';
import type { ImportOptions } from './agents.ts';
import { type AgentsPlace, awaitAgent, findAgentsPlace } from './agents-place.ts';

const WAIT_MS = 60_000;

export async function importAgents(
  terminal: Terminal,
  file: string,
  options: ImportOptions,
): Promise<void> {
  const { env, cwd } = terminal;
  const client = await readClientFile(file, cwd);
  await using place = await findAgentsPlace(terminal, options);
  const plan = planImport(client, {
    env,
    cwd,
    folder: place.folder,
    tier: options.tier ?? 'org',
    existing: await place.agents(),
    only: options.only,
    force: options.force === true,
    secretsFolder: join(stateFolder(env), 'secrets'),
  });
  if (!options.json) showWarnings(terminal, plan);
  if (plan.problems.length > 0) throw configError(plan.problems);
  if (!options.apply) return preview(terminal, plan, place, options);
  const taken = plan.servers.filter(({ action }) => action === 'taken');
  if (taken.length > 0) throw namesTaken(taken, place.shown);
  await apply(terminal, plan, place, options);
}

function showWarnings(terminal: Terminal, { servers, warnings }: ImportPlan): void {
  for (const warning of warnings) {
    const what = [placeOf(warning), warning.key, warning.message].join('  ');
    terminal.tell(`${paint('yellow', 'warning')}: ${what}`);
  }
  for (const { name, agent_id } of servers) {
    if (name !== agent_id) terminal.tell(`notice: "${name}" is called ${agent_id} here`);
  }
}

function preview(
  terminal: Terminal,
  plan: ImportPlan,
  { shown, isNew }: AgentsPlace,
  { json }: ImportOptions,
): void {
  if (json) {
    terminal.json({ ...toJson(plan, shown), applied: false });
    return;
  }
  const rows = plan.servers.map((server) => [
    server.agent_id,
    ACTIONS[server.action],
    howOf(server),
    secretsOf(server),
  ]);
  terminal.print(table(['AGENT', 'WOULD', 'HOW', 'SECRETS'], rows, terminal.columns));
  const target = `${shown}${isNew ? ' (new)' : ''}`;
  terminal.tell(`nothing was changed; --apply writes ${target}`);
}

const ACTIONS: Readonly<Record<PlannedServer['action'], string>> = {
  add: paint('green', 'be added'),
  unchanged: paint('dim', 'stay as it is'),
  replace: paint('yellow', 'be replaced'),
  taken: paint('red', 'need --force: the name is taken'),
  off: paint('dim', 'be left out: it is turned off'),
};

function howOf({ manifest }: PlannedServer): string {
  const { uri, command, args = [] } = manifest?.endpoint ?? {};
  return toOneLine(uri ?? [command ?? '', ...args].join(' '));
}

/** Names and references, never values. */
function secretsOf({ manifest }: PlannedServer): string {
  const { env = {}, headers = {} } = manifest?.endpoint ?? {};
  return Object.entries({ ...env, ...headers })
    .flatMap(([name, value]) => {
      const [, kind, place] = /^(?:\w+ )?(env|file):(.+)$/.exec(value) ?? [];
      if (kind === undefined) return [];
      return `${name}: ${kind === 'env' ? `env:${place}` : 'a file of your own'}`;
    })
    .join(', ');
}

async function apply(
  terminal: Terminal,
  plan: ImportPlan,
  place: AgentsPlace,
  options: ImportOptions,
): Promise<void> {
  const written = plan.servers.filter(({ action }) => action === 'add' || action === 'replace');
  const put = written.flatMap(({ manifest }) => manifest ?? []);
  if (put.length === 0) {
    if (options.json) terminal.json({ ...toJson(plan, place.shown), applied: true });
    else terminal.tell('nothing to add');
    return;
  }
  const since = Date.now();
  const { file } = place;
  const backup = place.isNew || file === undefined ? undefined : backupOf(file, since);
  if (plan.secrets.size > 0) await makeStateFolder(terminal.env);
  await writeSecrets(plan.secrets, async () => {
    await place.change({ put }, backup === undefined ? {} : { backup });
  });
  const reached = await Promise.all(
    put.map(({ agent_id }) => reach(terminal, place, agent_id, since)),
  );
  if (options.json) {
    const result = { ...toJson(plan, place.shown), applied: true, ...(backup && { backup }) };
    return terminal.json({ ...result, reached: place.gateway ? reached : [] });
  }
  terminal.tell(`${count(put.length, 'agent')} added to ${place.shown}`);
  if (backup) terminal.tell(`  the file as it was: ${backup}`);
  for (const file of plan.secrets.keys()) terminal.tell(`  a secret is now in ${file}`);
  if (!place.gateway) return terminal.tell('Try next\n  starloom up');
  const rows = reached.map(({ agent_id, status, note }) => [agent_id, paintHealth(status), note]);
  terminal.print(table(['AGENT', 'HEALTH', ''], rows, terminal.columns));
}

interface Reached {
  readonly agent_id: string;
  readonly status: string;
  readonly note: string;
}

async function reach(
  terminal: Terminal,
  { gateway }: AgentsPlace,
  agentId: string,
  since: number,
): Promise<Reached> {
  if (!gateway) return { agent_id: agentId, status: 'unknown', note: '' };
  try {
    const waiting = { agentId, since, waitMs: WAIT_MS };
    const { health, capabilities } = await awaitAgent(terminal, gateway, waiting);
    const note = count(capabilities.length, 'tool');
    return { agent_id: agentId, status: health.status, note };
  } catch (error) {
    if (!FabricError.is(error)) throw error;
    return { agent_id: agentId, status: 'offline', note: reasonOf(error) };
  }
}

/** What the gateway found, without the words about one agent alone. */
function reasonOf({ message, details }: FabricError): string {
  return typeof details.why === 'string' ? details.why : message;
}

/** Files for their owner alone; gone again when `then` fails. */
async function writeSecrets(
  secrets: ReadonlyMap<string, string>,
  then: () => Promise<void>,
): Promise<void> {
  const written: string[] = [];
  try {
    for (const [file, value] of secrets) {
      await writeOwnFile(file, `${value}\n`);
      written.push(file);
    }
    await then();
  } catch (error) {
    for (const file of written) await rm(file, { force: true });
    throw error;
  }
}

/** `agents.yaml.2026-11-15T170501.bak` beside the file. */
function backupOf(file: string, at: number): string {
  const stamp = new Date(at).toISOString().slice(0, 19).replaceAll(':', '');
  return `${file}.${stamp}.bak`;
}

function toJson({ servers, warnings }: ImportPlan, file: string) {
  const agents = servers.map(({ name, action, agent_id, manifest }) => ({
    name,
    action,
    agent_id,
    ...(manifest && { agent: manifest }),
  }));
  return { file, agents, warnings };
}

function namesTaken(taken: readonly PlannedServer[], file: string): FabricError {
  const names = taken.map(({ agent_id }) => `"${agent_id}"`).join(', ');
  const agent_ids = taken.map(({ agent_id }) => agent_id);
  return failure('id_taken/import', { file, names, agent_ids });
}
