import { join } from 'node:path';
import { type Clock, type Log, silentLog } from '@starloom/core';
import type { ITool, Trust } from '@starloom/sdk';
import type { Verifier } from '../core/seams.ts';
import { Decisions } from './decisions.ts';
import { createLabeller, type TrustLabeller } from './labeller.ts';
import { Plans } from './plans.ts';
import { type TrustPolicyInput, trustPolicySchema } from './policy.ts';
import { ToolPins } from './tool-pins.ts';
import { createVerifier } from './verifier.ts';

export interface TrustOptions {
  readonly policy?: TrustPolicyInput | undefined;
  /** Of what the user says, unless a turn says otherwise. Default `vetted`. */
  readonly userTrust?: Trust | undefined;
  readonly clock: Clock;
  /** State of this agent: decisions and pins are kept below it. */
  readonly folder: string;
  /** Folders that complete a relative path which the user names, for a call of this tool. */
  readonly rootsFor?: ((tool: ITool) => readonly string[]) | undefined;
  /** The tools of the agent, by name. */
  readonly toolNamed?: ((name: string) => ITool | undefined) | undefined;
  readonly log?: Log | undefined;
}

export interface TrustParts {
  readonly verifier: Verifier;
  readonly labeller: TrustLabeller;
  /** For sources of foreign tools. */
  readonly pins: ToolPins;
  /** Tools that trust itself brings. */
  readonly tools: readonly ITool[];
  readonly decisions: Pick<Decisions, 'file' | 'publicKey'>;
  /** From now on the policy says `allow` of this tool. */
  allow(tool: string): void;
  close(): Promise<void>;
}

/** Labels, verification and the record of decisions of one agent. */
export function createTrust(options: TrustOptions): TrustParts {
  const { userTrust = 'vetted', clock, folder, log = silentLog } = options;
  const { rootsFor = () => [], toolNamed = () => undefined } = options;
  const policy = trustPolicySchema.parse(options.policy ?? {});
  const decisions = new Decisions({ folder, clock, log });
  const pins = new ToolPins({
    file: join(folder, 'tool-pins.json'),
    vetted: policy.vetted_descriptions,
  });
  const plans = new Plans(policy.plan);
  const parts = { policy, userTrust, pins, decisions, rootsFor, toolNamed, plans };
  return {
    verifier: createVerifier(parts),
    tools: plans.tools,
    labeller: createLabeller({ userTrust }),
    pins,
    decisions,
    allow: (tool) => {
      policy.tools[tool] = 'allow';
    },
    close: async () => decisions.close(),
  };
}
