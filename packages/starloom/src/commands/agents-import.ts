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

export async function importAgents(terminal: Terminal, file: string, options: ImportOptions) {
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
  if (taken.length > 0) {
    const agent_ids = taken.map(({ agent_id }) => agent_id);
    const names = agent_ids.map((id) => `"${id}"`).join(', ');
    throw failure('id_taken/import', { file: place.shown, names, agent_ids });
  }
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
) {
  if (json) return terminal.json({ ...toJson(plan, shown), applied: false });
  const rows = plan.servers.map((server) => {
    const { uri, command = '', args = [] } = server.manifest?.endpoint ?? {};
    const how = toOneLine(uri ?? [command, ...args].join(' '));
    return [server.agent_id, ACTIONS[server.action], how, secretsOf(server)];
  });
  terminal.print(table(['AGENT', 'WOULD', 'HOW', 'SECRETS'], rows, terminal.columns));
  terminal.tell(`nothing was changed; --apply writes ${shown}${isNew ? ' (new)' : ''}`);
}

const ACTIONS: Readonly<Record<PlannedServer['action'], string>> = {
  add: paint('green', 'be added'),
  unchanged: paint('dim', 'stay as it is'),
  replace: paint('yellow', 'be replaced'),
  taken: paint('red', 'need --force: the name is taken'),
  off: paint('dim', 'be left out: it is turned off'),
};

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
    if (options.json) return terminal.json({ ...toJson(plan, place.shown), applied: true });
    return terminal.tell('nothing to add');
  }
  const since = Date.now();
  const stamp = new Date(since).toISOString().slice(0, 19).replaceAll(':', '');
  const backup = place.isNew || !place.file ? undefined : `${place.file}.${stamp}.bak`;
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

async function reach(terminal: Terminal, { gateway }: AgentsPlace, agentId: string, since: number) {
  if (!gateway) return { agent_id: agentId, status: 'unknown', note: '' };
  try {
    const { health, capabilities } = await awaitAgent(terminal, gateway, { agentId, since });
    const note = count(capabilities.length, 'tool');
    return { agent_id: agentId, status: health.status, note };
  } catch (error) {
    if (!FabricError.is(error)) throw error;
    // What the gateway found, without the words about one agent alone.
    const { why = error.message } = error.details;
    return { agent_id: agentId, status: 'offline', note: String(why) };
  }
}

/** Files for their owner alone; gone again when `then` fails. */
async function writeSecrets(secrets: ReadonlyMap<string, string>, then: () => Promise<void>) {
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

function toJson({ servers, warnings }: ImportPlan, file: string) {
  const agents = servers.map(({ manifest: agent, ...server }) => ({ ...server, agent }));
  return { file, agents, warnings };
}
