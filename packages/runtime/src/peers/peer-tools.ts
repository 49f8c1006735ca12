// Peers as tools of the agent: who there is, one task for one or several of them, and tasks that go on. What peers
// answer is untrusted data, and so is what they ask.

import { FabricError } from '@starloom/core';
import { defineTool, type ITool, type ToolContext } from '@starloom/sdk';
import { z } from 'zod';
import type { ToolSource } from '../core/seams.ts';
import { fixedSource } from '../core/tool-registry.ts';
import { failure } from '../reasons.ts';
import type { DelegateOptions, PeerOutcome } from './peer.ts';
import type { ListedPeer, Peers } from './peers.ts';

const MAX_PEERS = 16;
const MAX_TASK = 100_000;
const DEFAULT_SECONDS = 300;
const MAX_SECONDS = 86_400;
/** The deadline of the peers comes first. */
const GRACE_MS = 10_000;

const seconds = z
  .number()
  .positive()
  .max(MAX_SECONDS)
  .default(DEFAULT_SECONDS)
  .describe('Time for all of them; what is not there by then has failed');

export function peerSource(peers: Peers): ToolSource {
  const tools = [listTool(peers), askTool(peers), tasksTool(peers), resumeTool(peers)];
  return fixedSource(tools, () => peers.close());
}

function listTool(peers: Peers): ITool {
  return defineTool({
    name: 'peers:list',
    description: 'Lists other agents that take tasks, with their skills.',
    command: 'peers',
    effect: 'read',
    parameters: z.strictObject({}),
    async execute(_, { signal }) {
      const listed = await peers.list(signal);
      return { peers: listed.map(toListing) };
    },
  });
}

function askTool(peers: Peers): ITool {
  return defineTool({
    name: 'peers:ask',
    description:
      'Gives a task to one or several other agents at once and collects their answers. Some may fail.',
    command: 'ask-peers',
    effect: 'act',
    targets: ['to'],
    timeoutMs: MAX_SECONDS * 1_000 + GRACE_MS,
    parameters: z.strictObject({
      to: z
        .array(z.string().min(1))
        .min(1)
        .max(MAX_PEERS)
        .describe('Names of agents, as peers:list has them'),
      task: z.string().min(1).max(MAX_TASK).describe('All that they need to know'),
      skill: z.string().min(1).max(256).optional().describe('One of their skills'),
      seconds,
    }),
    async execute({ to, task: text, skill, seconds: most }, context) {
      const tasks = [...new Set(to)].map((name) => ({ to: name, text, skill }));
      const outcomes = await peers.delegateAll(tasks, toOptions(context, most));
      return toResult(outcomes);
    },
  });
}

function tasksTool(peers: Peers): ITool {
  return defineTool({
    name: 'peers:tasks',
    description:
      'Lists tasks given to other agents that can be gone on with: those that run, also from before a restart, and those that ask.',
    command: 'peer-tasks',
    effect: 'read',
    parameters: z.strictObject({}),
    execute: () => ({
      tasks: peers.tasks.list().map(({ id, peer, state, about, at }) => ({
        task: id,
        peer,
        state,
        about,
        since: new Date(at).toISOString(),
      })),
    }),
  });
}

function resumeTool(peers: Peers): ITool {
  return defineTool({
    name: 'peers:resume',
    description:
      'Goes on with a task at another agent: waits for one that runs, answers one that asks, or says more in the same conversation.',
    command: 'resume-peer',
    effect: 'act',
    targets: ['task'],
    timeoutMs: MAX_SECONDS * 1_000 + GRACE_MS,
    parameters: z.strictObject({
      task: z.string().min(1).max(100).describe('As peers:ask or peers:tasks names it'),
      text: z
        .string()
        .max(MAX_TASK)
        .default('')
        .describe('The answer to its question, or what follows'),
      seconds,
    }),
    async execute({ task: resume, text, seconds: most }, context) {
      const record = peers.tasks.get(resume);
      if (!record) throw failure('unknown_peer_task', { task: resume });
      const options = toOptions(context, most);
      return toResult([await peers.get(record.peer).delegate({ text, resume }, options)]);
    },
  });
}

function toOptions(context: ToolContext, most: number): DelegateOptions {
  const { signal, trace, hop, mandate } = context;
  return {
    signal,
    mandate,
    trace: { ...trace, parent_span_id: null },
    hop: { depth: hop.depth, chain: [...hop.chain] },
    deadlineMs: most * 1_000,
    budget: { seconds: most },
    onEvent: (event) => {
      if (event.type === 'progress') context.progress(event.data.message ?? '', event.data.percent);
    },
  };
}

function toListing(peer: ListedPeer) {
  if (!('problem' in peer)) return peer;
  const { code, message } = peer.problem;
  return { name: peer.name, offline: `${code}: ${message}` };
}

/** One failure among several is part of the result; where nothing came at all, the call has failed. */
function toResult(outcomes: readonly PeerOutcome[]) {
  const failed = outcomes.flatMap((outcome) => (outcome.status === 'failed' ? [outcome] : []));
  const [only] = failed;
  if (only && outcomes.length === 1) throw only.error;
  if (failed.length === outcomes.length) {
    const problems = failed.map(({ peer, error }) => `${peer}: ${error.message}`).join('; ');
    throw failure('all_peers_failed', { problems });
  }
  return { answers: outcomes.map(toAnswer) };
}

function toAnswer(outcome: PeerOutcome) {
  const { peer, task, status } = outcome;
  switch (outcome.status) {
    case 'completed': {
      const { text, data, artifacts } = outcome;
      return { peer, status, text, data, task, ...(artifacts.length > 0 && { artifacts }) };
    }
    case 'asking':
      return { peer, status, question: outcome.question, task };
    case 'failed': {
      const { code, message } = FabricError.from(outcome.error);
      return { peer, status, error: `${code}: ${message}`, task };
    }
  }
}
