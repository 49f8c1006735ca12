// One call to one agent, as an MCP client sees it: what came while the agent worked, and the answer.

import type { Client } from '@modelcontextprotocol/client';
import type { ArtifactData, FabricEvent } from '@starloom/core';

/** A hang guard: a greeting takes a fraction of a second, the start of a program a little longer. */
const TIMEOUT_MS = 30_000;

export interface Visit {
  /** Until the first event of the agent. */
  readonly firstMs: number | undefined;
  /** Of the agent, before its answer. */
  readonly events: readonly FabricEvent[];
  readonly artifacts: readonly ArtifactData[];
  readonly answer: string;
}

interface Payload {
  readonly result?: { readonly answer: string; readonly artifacts?: readonly ArtifactData[] };
  readonly error?: { readonly code: string; readonly message: string };
}

/** An error of the call stands in place of the answer. */
export async function visit(client: Client, agent_id: string, task: string): Promise<Visit> {
  const events: FabricEvent[] = [];
  const began = performance.now();
  let firstMs: number | undefined;
  const onprogress = (progress: { readonly _meta?: unknown; readonly progress: number }) => {
    const meta = progress._meta as Record<string, unknown> | undefined;
    const event = meta?.['io.starloom/event'] as FabricEvent | undefined;
    // The gateway tells how far the call is; the answer comes with the result, too.
    if (!event || event.type === 'status' || event.type === 'final') return;
    firstMs ??= Math.round(performance.now() - began);
    events.push(event);
  };
  const call = { agent_id, capability: 'greet', task, stream: true, timeout_ms: TIMEOUT_MS };
  const { structuredContent } = await client.callTool(
    { name: 'fabric.call', arguments: call },
    { onprogress },
  );
  const { result, error } = structuredContent as Payload;
  return {
    firstMs,
    events,
    artifacts: result?.artifacts ?? [],
    answer: result?.answer ?? `${error?.code}: ${error?.message}`,
  };
}
