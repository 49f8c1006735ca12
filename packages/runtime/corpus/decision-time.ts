// How long a decision takes, without the tool path around it: each call of each case is judged in its
// own context.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTrace, ROOT_HOP, systemClock } from '@starloom/core';
import { createTrust } from '../src/trust/create-trust.ts';
import type { Case } from './case.ts';
import { toolsOf } from './replay.ts';

/** Of three: other processes share the machine. */
async function fastest(step: () => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round += 1) {
    const started = performance.now();
    await step();
    best = Math.min(best, (performance.now() - started) * 1000);
  }
  return best;
}

export async function decisionTimes(cases: readonly Case[]): Promise<number[]> {
  const folder = await mkdtemp(join(tmpdir(), 'starloom-trust-'));
  const microseconds: number[] = [];
  const trust = createTrust({ clock: systemClock, folder });
  const { labeller, verifier } = trust;
  try {
    for (const one of cases) {
      const before = one.earlier.flatMap((turn) => turn.steps);
      const steps = [...before, ...one.steps, ...one.attack];
      const tools = new Map((await toolsOf(one, steps, new Map())).map((t) => [t.name, t]));
      const blocks = [labeller.ofUser([{ type: 'text', text: one.user }])];
      for (const [index, { tool: name, args, result }] of steps.entries()) {
        const tool = tools.get(name);
        if (!tool) continue;
        const call = { id: String(index), name, args };
        const { signal } = new AbortController();
        const known = { origin: 'model', sessionId: 's', hop: ROOT_HOP, signal } as const;
        const request = { ...known, call, trace: createTrace(), blocks: [...blocks] };
        microseconds.push(await fastest(() => verifier.verify(request, tool)));
        const output = [{ type: 'text' as const, text: result }];
        blocks.push(labeller.ofTool(tool, { id: call.id, name, output }, blocks));
      }
    }
  } finally {
    await trust.close();
    await rm(folder, { recursive: true, force: true });
  }
  return microseconds;
}
