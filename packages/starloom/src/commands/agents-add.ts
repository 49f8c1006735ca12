// Puts an agent behind the gateway: one entry in the file of agents. A gateway that runs and reads
// the file sees it at once.

import { existsSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { toAnnotatedYaml } from '@starloom/config/annotated-yaml';
import {
  type Capability,
  findCapability,
  looksLike,
  type Manifest,
  RESERVED_AGENT_IDS,
} from '@starloom/core';
import { toManifestEntry } from '@starloom/registry';
import { loadAgentConfig } from '@starloom/runtime';
import { isReference, isSecretName } from '../import-servers/expand.ts';
import { failure } from '../reasons.ts';
import { toUsageError } from '../report-error.ts';
import type { Terminal } from '../terminal.ts';
import { toAgentId } from '../to-agent-id.ts';
import type { AgentView } from '../tool-payloads.ts';
import type { AddOptions } from './agents.ts';
import { findAgentCard, findOpenApi, toOpenApiManifest } from './agents-add-document.ts';
import {
  toAgentManifest,
  toCommandManifest,
  toEditorManifest,
  toUrlManifest,
} from './agents-add-manifest.ts';
import { callingBack, makeCallbackKey } from './agents-callback-key.ts';
import { type AgentsPlace, awaitAgent, findAgentsPlace } from './agents-place.ts';
import { toolRows, toolTable } from './agents-show.ts';

export async function addAgent(
  terminal: Terminal,
  what: string | undefined,
  command: readonly string[],
  options: AddOptions,
): Promise<void> {
  await using place = await findAgentsPlace(terminal, options);
  const { manifest, isOwn, login } = await toManifest(terminal, what, command, options, place);
  const { agent_id } = manifest;
  const agents = await place.agents();
  const before = agents.find((agent) => agent.agent_id === agent_id);
  if (!before) assertUnlike(agent_id, agents);
  if (before && !isSameEndpoint(before, manifest) && !options.force) {
    throw failure('id_taken', { agent_id, file: place.shown });
  }
  let written = before && isOwn ? mergeManifests(before, manifest) : manifest;
  if (options.callbackKey) written = callingBack(written, terminal.env);
  if (options.dryRun) return showPlan(terminal, written, place, { ...options, login });
  warnOfSecrets(terminal, written);
  const key =
    options.callbackKey && (await makeCallbackKey(terminal, written, options.callbackKey));
  const since = Date.now();
  await place.change({ put: [written] });
  if (!options.json) {
    terminal.tell(`${agent_id} is in ${place.shown}${place.isNew ? ' (new)' : ''}`);
    if (login !== undefined) {
      terminal.tell(toAnnotatedYaml([toManifestEntry(written)]));
      terminal.tell(`login: ${login}`);
    }
  }
  const isUnchanged = before !== undefined && JSON.stringify(before) === JSON.stringify(written);
  const gateway = options.wait ? place.gateway : undefined;
  const waiting = { agentId: agent_id, since: isUnchanged ? 0 : since };
  const agent = gateway && (await awaitAgent(terminal, gateway, waiting));
  if (options.json) {
    const tools = agent && toolRows(agent);
    const state = agent && { status: agent.health.status, tools };
    const needed = { login, callback_key: key };
    return terminal.json({ agent: written, file: place.shown, ...needed, ...state });
  }
  if (key) {
    terminal.tell(`the key with which ${agent_id} calls the gateway; it is not shown again:`);
    terminal.print(key);
  }
  if (agent) terminal.print(toolTable(agent, terminal.columns));
  terminal.tell(nextSteps(written, agent, place));
}

async function toManifest(
  terminal: Terminal,
  what: string | undefined,
  command: readonly string[],
  options: AddOptions,
  place: AgentsPlace,
): Promise<{ manifest: Manifest; isOwn: boolean; login?: string }> {
  const { env, cwd } = terminal;
  const { folder } = place;
  if (options.acp !== undefined) {
    if (command.length > 0) throw toUsageError('--acp says itself how the agent is started');
    return { ...toEditorManifest(options.acp, what, options, { cwd, folder }), isOwn: false };
  }
  if (what === undefined) throw toUsageError('name the agent, or choose one with --acp');
  const [url = ''] = command;
  if (command.length === 1 && isUrl(url) && options.name === undefined) {
    return await toManifest(terminal, url, [], { ...options, name: what }, place);
  }
  if (command.length > 0) {
    if (options.name !== undefined)
      throw toUsageError('with a command, the name comes before "--"');
    return { manifest: toCommandManifest(what, command, options, { cwd, folder }), isOwn: false };
  }
  const known = isUrl(what) ? await recogniseCard(what, options) : options;
  if (known.protocol === 'a2a') return { manifest: toUrlManifest(what, known), isOwn: false };
  const document = await findOpenApi(what, cwd, options);
  if (document !== undefined) {
    const uri = isUrl(what) ? what : placeIn(folder, document);
    return { manifest: await toOpenApiManifest(uri, options, { env, folder }), isOwn: false };
  }
  if (options.server !== undefined) throw toUsageError('--server goes with an OpenAPI document');
  if (isUrl(what)) return { manifest: toUrlManifest(what, options), isOwn: false };
  const path = resolve(cwd, what);
  if (!existsSync(path)) throw failure('no_such_agent', { what });
  if (/\.(?:[cm]?[jt]s|py|rb|sh)$/.test(what)) {
    const run = /\.py$/.test(what) ? 'python3' : /\.[cm]?[jt]s$/.test(what) ? 'node' : 'sh';
    throw failure('program', { what, run });
  }
  const { agent } = await loadAgentConfig(what, env);
  const manifest = toAgentManifest(agent, placeIn(folder, path), options.name);
  return { manifest, isOwn: true };
}

/** An agent card says by itself what its agent speaks, and how it is called. */
async function recogniseCard(url: string, options: AddOptions): Promise<AddOptions> {
  if (options.protocol !== undefined && options.protocol !== 'a2a') return options;
  const card = await findAgentCard(url, options.header);
  if (!card) return options;
  const name = options.name ?? (card.name === undefined ? undefined : toAgentId(card.name));
  return { ...options, protocol: 'a2a', ...(name !== undefined && { name }) };
}

function isUrl(what: string): boolean {
  return /^https?:\/\//i.test(what);
}

/** So that the file may move together with the agent. */
function placeIn(folder: string, path: string): string {
  const place = relative(folder, path).replaceAll(sep, '/');
  return isAbsolute(place) || place.startsWith('..') ? place : `./${place}`;
}

/** A name that a person or a model takes for another one is refused. */
function assertUnlike(agentId: string, agents: readonly Manifest[]): void {
  const known = [...agents.map(({ agent_id }) => agent_id), ...RESERVED_AGENT_IDS];
  const like = known.find((id) => looksLike(id, agentId));
  if (like !== undefined) throw failure('look_alike', { agent_id: agentId, like });
}

/** An agent of one's own that was added before: what people wrote beside it stays. */
function mergeManifests(before: Manifest, now: Manifest): Manifest {
  const { version, description = before.description, capabilities = [] } = now;
  return {
    ...before,
    version,
    ...(description !== undefined && { description }),
    capabilities: capabilities.map((one) => ({ ...one, ...findCapability(before, one.name) })),
  };
}

function isSameEndpoint({ endpoint: one }: Manifest, { endpoint: other }: Manifest): boolean {
  return (
    one.command === other.command &&
    one.uri === other.uri &&
    String(one.args) === String(other.args)
  );
}

function showPlan(
  terminal: Terminal,
  manifest: Manifest,
  { shown, isNew }: AgentsPlace,
  { json, login }: AddOptions & { readonly login: string | undefined },
) {
  if (json) return terminal.json({ agent: manifest, file: shown, login, dry_run: true });
  if (login !== undefined) terminal.tell(`login: ${login}`);
  terminal.tell(`would be written to ${shown}${isNew ? ' (new)' : ''}; nothing was changed`);
  terminal.print(toAnnotatedYaml([toManifestEntry(manifest)]));
}

function warnOfSecrets(terminal: Terminal, { endpoint }: Manifest): void {
  const given = { '--env': endpoint.env, '--header': endpoint.headers };
  for (const [option, values = {}] of Object.entries(given)) {
    for (const [name, value] of Object.entries(values)) {
      if (!isSecretName(name) || isReference(value)) continue;
      const variable = name.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
      terminal.tell(
        `warning: the value of ${name} stands in the file as text\n` +
          `  fix: set a variable for the gateway and write ${option} ${name}=env:${variable}`,
      );
    }
  }
}

function nextSteps(written: Manifest, agent: AgentView | undefined, place: AgentsPlace): string {
  const { agent_id } = written;
  const isEditorAgent = written.endpoint.protocol === 'agent-client-protocol';
  const known = exampleOf(agent?.capabilities ?? written.capabilities ?? []);
  const example = known ?? (isEditorAgent ? 'prompt "…"' : undefined);
  const instead = `The gateway that runs here reads ${place.servedInstead}, not this file.`;
  return [
    ...(place.samples && place.isNew ? SAMPLES_NEXT_TIME : []),
    ...(place.servedInstead ? [instead, '  fix: stop it and run "starloom up" here', ''] : []),
    'Try next',
    ...(place.gateway ? [] : ['  starloom up']),
    `  starloom agents tools ${agent_id}`,
    ...(example === undefined ? [] : [`  starloom call ${agent_id} ${example}`]),
  ].join('\n');
}

const SAMPLES_NEXT_TIME = [
  'Next time, "starloom up" serves the agents of this file alone;',
  '"starloom up --samples" serves the samples beside them.',
  '',
];

/** A call that a person may try: one that only reads, where there is one. */
function exampleOf(capabilities: readonly Capability[]): string | undefined {
  const current = capabilities.filter(({ title, description }) => {
    return !/deprecated/i.test(`${title} ${description}`);
  });
  const isReading = ({ annotations }: Capability) => annotations?.readOnlyHint === true;
  const chosen = current.find(isReading) ?? current[0] ?? capabilities[0];
  if (chosen === undefined) return undefined;
  const required = chosen.input_schema?.required;
  const names = Array.isArray(required) ? required.map(String) : [];
  if (names.length === 0) return chosen.name;
  if (names.length === 1 && ['task', 'prompt'].includes(names[0] ?? ''))
    return `${chosen.name} "…"`;
  return `${chosen.name} ${names.map((name) => `--arg ${name}=…`).join(' ')}`;
}
