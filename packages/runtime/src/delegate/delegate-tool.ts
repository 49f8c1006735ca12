// One call for every task that goes to someone else: a helper of this agent, an A2A agent, an agent of the
// gateway. The one that takes it gets no more tools, trust and budget than its caller has left. What comes back is
// untrusted data.

import { type Clock, FabricError } from '@starloom/core';
import { type ContentSegment, defineTool, type ITool, type ToolOutput } from '@starloom/sdk';
import { z } from 'zod';
import type { HelperEntry } from '../config/agent-file.ts';
import { budgetSchema, leastOf } from '../core/budgets.ts';
import type { DelegateKind } from '../core/event-bus.ts';
import { CALL, type CoreContext, type CoreTool, FOR_CALL } from '../core/seams.ts';
import type { AgentGuard } from '../guard.ts';
import { type Peer, toDelegateOptions, toPeerOutput } from '../peers/peer.ts';
import { failure } from '../reasons.ts';
import type { HelperTeam, HelperWork } from './helper-team.ts';

export const DELEGATE = 'agent:delegate';

const MAX_TASK_CHARACTERS = 100_000;
/** The turn has its own deadline. */
const LONGEST_MS = 86_400_000;

const delegateSchema = z.strictObject({
  to: z.string().min(1).max(200).describe('Who takes the task'),
  task: z.string().min(1).max(MAX_TASK_CHARACTERS).describe('All that it needs to know'),
  tools: z.array(z.string().min(1)).max(64).optional().describe('Only these of its tools'),
  budget: budgetSchema.strict().optional().describe('What it may use; never more than is left'),
  deadline: z.number().positive().max(86_400).optional().describe('In seconds from now'),
});

type Delegated = z.output<typeof delegateSchema>;
/** What came back, and what it cost as far as that is known. */
type Delivered = { readonly output: ToolOutput; readonly steps?: number; readonly usage?: object };

interface DelegationOptions {
  readonly helpers: readonly HelperEntry[];
  readonly team: HelperTeam;
  readonly peers: ReadonlyMap<string, Peer>;
  /**
   * The agent of the gateway by this name, where the agent knows a gateway. `tools`: the capabilities that it
   * may use for us; absent: what its manifest allows.
   */
  readonly gateway?: ((name: string, tools: readonly string[] | undefined) => Peer) | undefined;
  readonly guard: AgentGuard;
  readonly clock: Clock;
}

/** `undefined` for an agent that has no one to delegate to. */
export function createDelegation(options: DelegationOptions): ITool | undefined {
  const { helpers, team, peers, gateway, guard, clock } = options;
  if (helpers.length + peers.size === 0 && !gateway) return undefined;

  const kindOf = (to: string): DelegateKind => {
    const helper = helpers.find(({ name }) => name === to);
    if (helper) return helper.process ? 'process' : 'helper';
    if (peers.has(nameIn(to))) return 'peer';
    if (gateway) return 'gateway';
    const known = [...helpers.map(({ name }) => name), ...peers.keys()].join(', ');
    throw failure('no_such_helper', { to, known });
  };

  const tool: CoreTool = {
    ...defineTool({
      name: DELEGATE,
      description: `Gives a task to another agent and returns its result. ${describe(options)}`,
      command: 'delegate',
      effect: 'act',
      targets: ['to'],
      timeoutMs: LONGEST_MS,
      parameters: delegateSchema,
      execute: (given, context) => delegate(given, context as CoreContext),
    }),
    // What a helper does is judged call by call, in the context of its caller; what leaves is judged here.
    [FOR_CALL]: ({ to }) =>
      helpers.some(({ name }) => name === to)
        ? { ...tool, effect: 'read', source: `helper:${to}` }
        : { ...tool, source: `peer:${nameIn(String(to))}` },
  };

  async function delegate(given: Delegated, context: CoreContext): Promise<ToolOutput> {
    const { request, emit } = context[CALL];
    const { to } = given;
    const kind = kindOf(to);
    const call = request.call.id;
    const started = clock.monotonic();
    const end = (facts: object) =>
      emit('EXEC:RETURNED', { call, to, kind, ms: clock.monotonic() - started, ...facts });
    try {
      const ask = kind === 'helper' || kind === 'process' ? askHelper : askPeer;
      const { output, ...cost }: Delivered = await ask(given, context, kind);
      end(cost);
      return output;
    } catch (thrown) {
      const error = FabricError.from(thrown);
      end({ code: error.code });
      throw error;
    }
  }

  async function askHelper(given: Delegated, context: CoreContext, kind: DelegateKind) {
    const { request, emit } = context[CALL];
    const { signal, trace, hop } = context;
    const helper = helpers.find(({ name }) => name === given.to) as HelperEntry;
    const tools = team.toolsOf(helper, request.allowed, given.tools);
    using place = guard.descend({ trace, hop }, helper.name);
    const named = { call: request.call.id, to: helper.name, kind };
    emit('EXEC:DELEGATED', { ...named, hop: place.hop, tools: [...tools] });
    const work: HelperWork = {
      ...{ helper, task: given.task, tools, request, emit, signal, trace, hop: place.hop },
      budget: leastOf(given.budget, { seconds: given.deadline }),
    };
    const { segments, steps, usage } = await team.run(work);
    return { output: toOutput(segments), steps, usage: { ...usage } };
  }

  async function askPeer(given: Delegated, context: CoreContext, kind: DelegateKind) {
    const { request, emit } = context[CALL];
    const { trace, hop } = context;
    const { to, task: text, tools } = given;
    const left = request.budget?.left;
    const money = left?.money?.limit;
    const budget = leastOf(given.budget, { seconds: given.deadline }, left && { ...left, money });
    const name = nameIn(to);
    const peer = peers.get(name) ?? gateway?.(name, tools);
    if (!peer) throw failure('no_such_helper', { to, known: '' });
    const { hop: below } = guard.assertMayCall({ trace, hop });
    const named = { call: request.call.id, to, kind };
    emit('EXEC:DELEGATED', { ...named, hop: below, tools: [...(tools ?? [])] });
    const skill = to === name ? undefined : to.slice(name.length + 1);
    const outcome = await peer.delegate({ text, skill }, toDelegateOptions(context, budget));
    return { output: toPeerOutput(outcome) };
  }

  return tool;
}

function describe({ helpers, peers, gateway }: DelegationOptions): string {
  const named = [
    ...helpers.map(({ name, description }) => `${name}: ${description}`),
    ...[...peers.keys()].map((name) => `${name}: an agent elsewhere`),
  ];
  const others = gateway ? ['any agent that fabric:agents or peers:list lists'] : [];
  return `It can be ${[...named, ...others].join('; ')}. Agents elsewhere may be named with a skill: <agent>/<skill>.`;
}

/** For the reader: what was said and shown, not what was thought. */
function toOutput(segments: readonly ContentSegment[]): ContentSegment[] {
  const shown = segments.filter(({ type }) => type !== 'reasoning' && type !== 'tool_call');
  return shown.length > 0 ? shown : [{ type: 'text', text: 'It gave no answer.' }];
}

/** `researcher` of `researcher/search`, where the rest names a skill. */
function nameIn(to: string): string {
  const [name = ''] = to.split('/', 1);
  return name;
}
