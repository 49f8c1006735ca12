// The gateway as an MCP server, through the official SDK's low-level Server: one instance per HTTP
// request or per connection, both protocol eras. Handlers only translate; what they do is in tools/.

import {
  CLIENT_INFO_META_KEY,
  type McpRequestContext,
  Server,
  type ServerCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { FabricError, PROFILE, QUESTION_MS } from '@starloom/core';
import type { Identity } from '@starloom/identity';
import type { Discovery } from '../discovery.ts';
import type { InFlight } from '../in-flight.ts';
import type { JobCalls } from '../jobs/job-calls.ts';
import { TASKS_EXTENSION } from '../jobs/run-as-job.ts';
import { type AuditCall, toRefusedEntry } from '../pipeline/audit-call.ts';
import type { Caller } from '../pipeline/call-request.ts';
import { isCallerLimit } from '../pipeline/limits.ts';
import { answerTrace } from '../pipeline/origin.ts';
import type { ToolResult } from '../pipeline/respond.ts';
import { failure } from '../reasons.ts';
import type { GatewayTools } from '../tools/catalog.ts';
import type { Tool } from '../tools/tool.ts';
import type { Toolset } from '../tools/tool-lists.ts';
import { declaredBy, MAX_ROUNDS, notifyClient } from './client-side.ts';
import {
  answering,
  type Connection,
  connectionOf,
  identified,
  identifiedConnection,
} from './connection.ts';
import { type RelayFace, SKILLS_EXTENSION } from './relay-face.ts';
import { installTasks } from './tasks.ts';
import { toCaller } from './to-caller.ts';
import { nameStyleFor, type ToolPage, toolPage } from './tool-listing.ts';

export interface McpFace {
  readonly catalog: GatewayTools;
  readonly discovery: Discovery;
  readonly relay: RelayFace;
  readonly inFlight: InFlight;
  /** Serves the Tasks extension, where there are jobs. */
  readonly jobs?: JobCalls | undefined;
  /** Verifies passports and mandates in `_meta`, where there are no headers. */
  readonly credentials?: Pick<Identity, 'passports' | 'mandates'> | undefined;
  /** Writes down that a tool was refused. */
  readonly audit: AuditCall;
  readonly version: string;
  /** Tools in one page of `tools/list`. */
  readonly listLimit?: number | undefined;
}

type Params = Record<string, unknown>;

const INSTRUCTIONS =
  'Starloom is one fabric for many agents. fabric.agent.list shows the available agents and their ' +
  'capabilities; fabric.call gives an agent a task; each capability is also a tool of its own.';

export function createServer(
  face: McpFace,
  era: McpRequestContext['era'],
  connection: Connection,
): Server {
  const server = new Server(
    { name: 'starloom', title: 'Starloom', version: face.version },
    {
      capabilities: capabilitiesOf(era, connection, face),
      instructions: INSTRUCTIONS,
      inputRequired: { maxRounds: MAX_ROUNDS, roundTimeoutMs: QUESTION_MS },
    },
  );
  const list = async ({ params }: { params?: Params | undefined }, context: ServerContext) => {
    await face.discovery.firstAnswers();
    const own = await identifiedConnection(face, context, connection);
    const exchange = { server, connection: own, context };
    return listTools(face, exchange, params?.cursor as string | undefined) as never;
  };
  const call = async ({ params }: { params: Params }, context: ServerContext) => {
    const exchange = { server, connection: connectionOf(context, connection), context };
    return (await callTool(face, exchange, params)) as never;
  };
  server.setRequestHandler('tools/list', answering(connection, list));
  server.setRequestHandler('tools/call', answering(connection, call));
  face.relay.install(server, connection, face);
  if (face.jobs && era === 'modern') installTasks(server, connection, face.jobs, face);
  return server;
}

/** Changes are sent where there is a channel: not to older clients over HTTP without a session. */
function capabilitiesOf(
  era: string,
  { push = false }: Connection,
  { jobs }: McpFace,
): ServerCapabilities {
  const listChanged = push || era === 'modern';
  return {
    tools: { listChanged },
    resources: { listChanged, ...(listChanged && { subscribe: true }) },
    prompts: { listChanged },
    completions: {},
    logging: {},
    experimental: { [PROFILE.name]: { version: PROFILE.version } },
    extensions: {
      [SKILLS_EXTENSION]: { directoryRead: true },
      ...(jobs && era === 'modern' && { [TASKS_EXTENSION]: {} }),
    },
  };
}

interface ServedRequest {
  readonly server: Server;
  readonly connection: Connection;
  readonly context: ServerContext;
}

function listTools(
  { catalog, listLimit }: McpFace,
  { server, connection, context }: ServedRequest,
  cursor: string | undefined,
): ToolPage {
  const { toolNames, toolsets, principal } = connection;
  const style = nameStyleFor(toolNames, clientNameOf(server, context.mcpReq.envelope));
  const listed = (isAsked: (toolset: Toolset) => boolean) =>
    catalog.list(style, toolsets.filter(isAsked), principal);
  const agents = listed((toolset) => toolset === 'agents');
  const ours = listed((toolset) => toolset !== 'agents');
  return toolPage({ agents, ours }, listLimit, cursor);
}

async function callTool(
  face: McpFace,
  exchange: ServedRequest,
  params: Params,
): Promise<ToolResult> {
  const { catalog } = face;
  const name = String(params.name);
  const caller = await identified(face, callerOf(name, exchange));
  const tool = catalog.find(name, caller.principal) ?? (await findDiscovered(face, name, caller));
  if (!tool) {
    const error = failure('unknown_tool', {
      tool: name.slice(0, 200),
      fix: catalog.nearest(name, caller.principal),
    });
    const rule = catalog.hiddenBy(name, caller.principal);
    face.audit(toRefusedEntry({ capability: name }, caller, answerTrace(caller), error, rule));
    throw error;
  }
  try {
    return await tool.run(params.arguments, caller);
  } catch (thrown) {
    const error = FabricError.from(thrown);
    if (isCallerLimit(error)) exchange.connection.limited?.(error);
    throw error;
  }
}

/** A tool of an agent that has not said yet what it offers: its answer is waited for. */
async function findDiscovered(
  { catalog, discovery }: McpFace,
  name: string,
  { principal, signal }: Caller,
): Promise<Tool | undefined> {
  const find = () => catalog.find(name, principal);
  return await discovery.awaitTool(name, find, principal, signal);
}

function callerOf(tool: string, { server, connection, context }: ServedRequest): Caller {
  const { mcpReq } = context;
  return toCaller(
    {
      tool,
      requestId: mcpReq.id,
      meta: mcpReq._meta ?? {},
      declared: declaredBy(server, context),
      protocolVersion: versionOf(mcpReq.envelope, connection.headers),
      requestState: mcpReq.requestState(),
      inputResponses: mcpReq.inputResponses,
      signal: mcpReq.signal,
      notify: (notification) => notifyClient(connection, context, notification),
      send: async (notification) => {
        await connection.room();
        await mcpReq.notify(notification);
      },
    },
    connection,
  );
}

/** Said with every request in the current revision, and once per connection before. */
function clientNameOf(server: Server, envelope: unknown): string | undefined {
  const info = (envelope as Params | undefined)?.[CLIENT_INFO_META_KEY] as Params | undefined;
  const name = info?.name ?? server.getClientVersion()?.name;
  return typeof name === 'string' ? name : undefined;
}

function versionOf(envelope: unknown, headers: Params): string | undefined {
  const named = (envelope as Params | undefined)?.['io.modelcontextprotocol/protocolVersion'];
  const version = named ?? headers['mcp-protocol-version'];
  return typeof version === 'string' ? version : undefined;
}
