// Adding an agent: tested first, then saved as `fabric.agent.register` does. A test obeys the same rules: it
// reaches nothing that could not be saved. Commands of this machine are for operators that sit at it.

import type { AgentTest } from '@starloom/console/api-types';
import { FabricError, type Manifest, parseManifest } from '@starloom/core';
import { deadlineSignal } from '@starloom/wire';
import { z } from 'zod';
import { failure } from '../reasons.ts';
import { describeAgent, toHealthView, toToolView } from './agents.ts';
import {
  assertMay,
  type ConsoleRequest,
  compact,
  type Handlers,
  notRunning,
  parse,
  rightsOf,
} from './request.ts';

const TEST_MS = 20_000;

const addSchema = z.strictObject({
  agent_id: z.string().min(1).max(64),
  protocol: z.string().max(64).optional(),
  uri: z.string().max(2_048).optional(),
  command: z.string().min(1).max(4_096).optional(),
  args: z.array(z.string().max(8_192)).max(256).optional(),
  headers: z.record(z.string().min(1).max(256), z.string().max(8_192)).optional(),
  trust_tier: z.string().optional(),
});

export const addingHandlers: Handlers = {
  'POST agents/test': async (request) => {
    const manifest = toManifest(request);
    return manifest ? await testAgent(request, manifest) : notRunning('commands');
  },
  'POST agents': async (request) => {
    if (!request.parts.gateway.registry.registrar) return notRunning('registration');
    const manifest = toManifest(request);
    if (!manifest) return notRunning('commands');
    const { registrations } = request.parts;
    const asked = { manifest, leaseMs: 0, ifRevision: 0 };
    await registrations.register(request.principal, asked, manifest.endpoint.command !== undefined);
    return await describeAgent(request, manifest.agent_id);
  },
};

/** `undefined` for a command that may not be added here. */
function toManifest(request: ConsoleRequest): Manifest | undefined {
  assertMay(request, 'agents');
  const asked = parse(addSchema, request.body, 'the agent');
  const { agent_id, protocol, uri, command, args, headers, trust_tier } = asked;
  if ((uri === undefined) === (command === undefined)) throw failure('console_endpoint');
  const isCommand = command !== undefined;
  if (isCommand && !rightsOf(request).commands) return undefined;
  const transport = isCommand ? (protocol === 'local-process' ? 'process' : 'stdio') : 'http';
  const endpoint = isCommand
    ? compact({ transport, protocol, command, args })
    : compact({ transport, protocol, uri, headers });
  const manifest = parseManifest(compact({ agent_id, trust_tier, endpoint }));
  request.parts.registrations.assertMayAdd(request.principal, manifest, isCommand);
  return manifest;
}

async function testAgent(request: ConsoleRequest, manifest: Manifest): Promise<AgentTest> {
  const { gateway, pipeline } = request.parts;
  const { clock, log } = pipeline.deps;
  const began = clock.monotonic();
  const took = () => ({ duration_ms: Math.round(clock.monotonic() - began) });
  using deadline = deadlineSignal({ ms: TEST_MS, parent: request.signal });
  const context = { signal: deadline.signal, log };
  let adapter: Awaited<ReturnType<typeof gateway.openAdapter>> | undefined;
  try {
    adapter = await gateway.openAdapter(manifest);
    const health = toHealthView(await adapter.health(context));
    const { version, capabilities } = await adapter.describe(context);
    return {
      reachable: true,
      health,
      ...(version !== undefined && { version }),
      tools: capabilities.map(toToolView),
      ...took(),
    };
  } catch (thrown) {
    const error = FabricError.from(thrown);
    return { reachable: false, tools: [], error: error.toPayload(null).error, ...took() };
  } finally {
    await adapter?.close();
  }
}
