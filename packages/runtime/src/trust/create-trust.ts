import { join } from 'node:path';
import { type Clock, type Log, silentLog } from '@starloom/core';
import type { ITool, Trust } from '@starloom/sdk';
import type { AlwaysRule, Labeller, Verifier } from '../core/seams.ts';
import { Decisions } from '../decision-log/decisions.ts';
import { ToolPins } from '../tool-pins/tool-pins.ts';
import { createLabeller } from './labels.ts';
import { Plans } from './plans.ts';
import { type TrustPolicy, type TrustPolicyInput, trustPolicySchema } from './policy.ts';
import { isForeign, sourceOf } from './tool-name.ts';
import { createVerifier } from './verifier.ts';

export interface TrustOptions {
  readonly policy?: TrustPolicyInput | undefined;
  /** Of what the user says. Default `vetted`. */
  readonly userTrust?: Trust | undefined;
  readonly clock: Clock;
  /** State of this agent: decisions and pins are kept below it. */
  readonly folder: string;
  /** Folders that complete a relative path which the user names, for a call of this tool. */
  readonly rootsFor?: ((tool: ITool) => readonly string[]) | undefined;
  /** Words that the operator wrote for this tool: arguments and settings of its server. */
  readonly constantsFor?: ((tool: ITool) => readonly string[]) | undefined;
  readonly tools?: (() => ReadonlyMap<string, ITool>) | undefined;
  readonly log?: Log | undefined;
}

export interface TrustParts {
  readonly verifier: Verifier;
  readonly labeller: Labeller;
  /** For sources of foreign tools. */
  readonly pins: ToolPins;
  /** Tools that trust itself brings to these. */
  toolsFor(tools: Iterable<ITool>): readonly ITool[];
  readonly decisions: Pick<Decisions, 'file' | 'publicKey'>;
  /** From now on the policy allows these calls. */
  allow(rule: AlwaysRule): void;
  close(): Promise<void>;
}

export function createTrust(options: TrustOptions): TrustParts {
  const { userTrust = 'vetted', clock, folder, log = silentLog } = options;
  const { rootsFor = () => [], constantsFor = () => [], tools: known = () => new Map() } = options;
  const tools = () => known().values();
  const toolNamed = (name: string) => known().get(name);
  const policy = trustPolicySchema.parse(options.policy ?? {});
  const decisions = new Decisions({ folder, clock, log });
  const pins = new ToolPins({
    file: join(folder, 'tool-pins.json'),
    vetted: policy.vetted_descriptions,
  });
  const plans = new Plans({
    isOn: policy.plan === 'on',
    tools,
    isVetted: (tool) => !isForeign(tool) || policy.vetted_descriptions.includes(sourceOf(tool)),
    record: (request, steps) => decisions.recordPlan(request, steps),
    log,
  });
  const parts = { policy, userTrust, pins, decisions, rootsFor, constantsFor, toolNamed, plans };
  return {
    verifier: createVerifier(parts),
    toolsFor: (others) => plans.toolsFor(others),
    labeller: createLabeller(),
    pins,
    decisions,
    allow: (rule) =>
      void policy.always.push(structuredClone(rule) as TrustPolicy['always'][number]),
    close: async () => decisions.close(),
  };
}
