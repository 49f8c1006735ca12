// One request of the page as its handlers see it, and what they share: parsing, rights, our own tools.

import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import type { NotRunning, Part, Rights } from '@starloom/console/api-types';
import { FabricError, fromErrorPayload } from '@starloom/core';
import {
  type AdminArea,
  isRegistryOperator,
  mayAdministrate,
  mayUseAgents,
  type Principal,
} from '@starloom/identity';
import type { z } from 'zod';
import type { Caller } from '../pipeline/call-request.ts';
import { failure } from '../reasons.ts';
import type { HttpRequest } from '../transports/routes.ts';
import type { CallFacts } from './call-facts.ts';
import type { ConsoleParts } from './console.ts';
import type { ConsoleSession } from './sessions.ts';
import { isLoopbackName } from './web-origin.ts';

export interface ConsoleRequest {
  readonly parts: ConsoleParts;
  readonly session: ConsoleSession;
  readonly principal: Principal;
  /** What the `:names` of its path stand for. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: unknown;
  /** Aborted when the page leaves. */
  readonly signal: AbortSignal;
  readonly exchange: HttpRequest;
  /** What is counted of calls; absent without a journal. */
  readonly facts: CallFacts | undefined;
}

/** Its value is the answer, but for `ok`; nothing when it answered by itself. */
export type Handler = (request: ConsoleRequest) => object | undefined | Promise<object | undefined>;
export type Handlers = Readonly<Record<string, Handler>>;

/** BAD_INPUT that says what is wrong. */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${path.join('.') || what}: ${message}`,
  );
  throw failure('console_input', { what, problem: problems[0], problems });
}

export function parseQuery<Schema extends z.ZodType>(
  schema: Schema,
  { query }: Pick<ConsoleRequest, 'query'>,
): z.output<Schema> {
  return parse(schema, Object.fromEntries(query), 'the query');
}

/** Refuses what a scope would allow. */
export function assertMay({ principal }: ConsoleRequest, area: AdminArea): void {
  if (!mayAdministrate(principal, area)) throw failure('console_scope', { scope: `admin:${area}` });
}

export function scopeOf(principal: Principal, area: AdminArea): 'all' | 'own' {
  return mayAdministrate(principal, area) ? 'all' : 'own';
}

/** Whose things are seen; those of all with the scope. */
export function ownerOf(principal: Principal, area: AdminArea): string | undefined {
  return mayAdministrate(principal, area) ? undefined : principal.id;
}

export function rightsOf({ principal, parts, exchange }: ConsoleRequest): Rights {
  const agents = isRegistryOperator(principal);
  return {
    agents,
    commands: agents && parts.gateway.config.console.commands && isLocal(parts, exchange),
    keys: mayAdministrate(principal, 'keys'),
    call: mayUseAgents(principal),
  };
}

/** Whether the page is on the machine of a gateway that no other machine reaches. */
function isLocal({ gateway }: ConsoleParts, { request }: HttpRequest): boolean {
  const { hostname = '' } = URL.parse(`http://${request.headers.host}`) ?? {};
  const hosts = [gateway.config.listen.host, request.socket.remoteAddress ?? '', hostname];
  return hosts.every(isLoopbackName);
}

const OFF: Readonly<Record<Part, readonly [message: string, fix: string]>> = {
  journal: ['No journal of calls is kept', 'set journal.kind to sqlite in starloom.yaml'],
  jobs: ['This gateway runs no jobs', 'start it with "starloom up", which keeps them on the disk'],
  coordination: [
    'This gateway has no sessions of agents',
    'start it with "starloom up", or set coordination.kind in starloom.yaml',
  ],
  audit: ['No audit log is written', 'start the gateway with "starloom up"'],
  approvals: [
    'No rule of this gateway asks a person',
    'rules with the effect "ask" are not available in this version',
  ],
  pinning: ['Tools of agents are served unpinned', 'set pinning.mode to first_use or strict'],
  identity: [
    'This gateway keeps no keys of its own',
    'start it with "starloom up", which has a state folder',
  ],
  commands: [
    'Commands cannot be added from this page',
    'set console.commands to true and open the page on the machine of the gateway',
  ],
  registration: ['The registry takes no agents', 'set registry.kind to yaml or postgres'],
};

const RUNNING = {
  journal: ({ gateway }: ConsoleParts) => gateway.journal,
  jobs: ({ pipeline }: ConsoleParts) => pipeline.jobs,
  coordination: ({ coordination }: ConsoleParts) => coordination,
  audit: ({ gateway }: ConsoleParts) => gateway.identity?.audit,
  approvals: () => undefined,
  pinning: ({ gateway }: ConsoleParts) => gateway.pinning,
  identity: ({ gateway }: ConsoleParts) => gateway.identity,
  commands: ({ gateway }: ConsoleParts) => gateway.config.console.commands || undefined,
  registration: ({ gateway }: ConsoleParts) => gateway.registry.registrar,
} as const satisfies Record<Part, (parts: ConsoleParts) => unknown>;

export function partsOf(parts: ConsoleParts): Record<Part, boolean> {
  const rows = Object.entries(RUNNING).map(([part, of]) => [part, of(parts) !== undefined]);
  return Object.fromEntries(rows) as Record<Part, boolean>;
}

export function notRunning(part: Part): NotRunning {
  const [message, fix] = OFF[part];
  return { ok: true, running: false, part, message, fix };
}

/** A handler of a part that may be off. */
export function withPart<Name extends Part>(
  part: Name,
  handle: (
    request: ConsoleRequest,
    running: NonNullable<ReturnType<(typeof RUNNING)[Name]>>,
  ) => object | Promise<object>,
): Handler {
  return async (request) => {
    const running = RUNNING[part](request.parts);
    return running === undefined ? notRunning(part) : await handle(request, running as never);
  };
}

type ToolOptions = Partial<Pick<Caller, 'send' | 'signal' | 'meta'>>;

/** Who calls our tools from the page: the same person with the same rights as anywhere else. */
export function toCaller(request: ConsoleRequest, tool: string, options: ToolOptions = {}): Caller {
  const { principal, signal, exchange } = request;
  return {
    principal,
    transport: 'http',
    headers: {},
    meta: {},
    tool,
    request: exchange.seen,
    socket: exchange.request.socket,
    declared: { [CLIENT_CAPABILITIES_META_KEY]: { elicitation: { form: {}, url: {} } } },
    signal,
    cut: () => exchange.response.destroy(),
    ...options,
  };
}

/** What one of our own tools answers; throws what it refuses. */
export async function useTool(
  request: ConsoleRequest,
  name: string,
  args: unknown,
  options?: ToolOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const tool = request.parts.catalog.find(name, request.principal);
  if (!tool) throw failure('console_tool', { tool: name });
  const { isError, structuredContent } = await tool.run(args, toCaller(request, name, options));
  if (!isError) return structuredContent ?? {};
  throw (
    fromErrorPayload(structuredContent) ??
    new FabricError('INTERNAL', `${name} failed without a reason`)
  );
}

/** Without the fields that have no value, as the types of the page want it. */
export function compact<T>(fields: { readonly [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

export function toTime(ms: number): string;
export function toTime(ms: number | undefined): string | undefined;
export function toTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
