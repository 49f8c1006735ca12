// The agent as A2A server over HTTP: its card, JSON-RPC at the root and REST below it. The card is public, since
// it says how to authenticate; for everything else the caller must have a key where the agent has one.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { a2aError, CARD_PATH, LEGACY, toA2aRefusal } from '@starloom/a2a';
import {
  A2aFace,
  assertVersion,
  CardServer,
  type CardSigner,
  PushNotifications,
  requestedVersion,
  serveJsonRpc,
  serveRest,
} from '@starloom/a2a/tasks';
import { type Clock, FabricError, isObject, type Log, type Trace } from '@starloom/core';
import { BoundedBody, createAddressGuard, jsonExcess, writeRefusal } from '@starloom/wire';
import type { Agent } from '../agent.ts';
import type { ExposedTools } from '../core/exposed-tools.ts';
import { answerTrace } from '../guard.ts';
import { type HttpFace, type HttpFaceOptions, openHttpFace } from '../http-face.ts';
import { failure } from '../reasons.ts';
import type { AgentTasks } from './agent-tasks.ts';
import { toCard } from './card.ts';

interface A2aHttpOptions extends HttpFaceOptions {
  readonly agent: Agent;
  readonly tools: ExposedTools;
  readonly tasks: AgentTasks;
  readonly sign: CardSigner;
  /** Whether callers need a key, for the card. */
  readonly needsKey: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

const MAX_BODY_BYTES = 4_194_304;
const JSON_LIMITS = { depth: 64, nodes: 200_000 };
const MAX_DUE = 10_000;
const TAKE_OVER_MS = 10_000;
const ANONYMOUS = { id: 'anonymous' };
const JSON_TYPE = /^application\/(?:a2a\+)?json\s*(?:;|$)/i;
const RPC_CHECKS = { assertMessage, idOf };

export async function openA2aHttp(options: A2aHttpOptions): Promise<HttpFace> {
  const { tasks, agent } = options;
  const { public_url: publicUrl } = agent.config.toml.a2a;
  const served = new A2aListener(options);
  const face = await openHttpFace(options, {
    names: publicUrl === undefined ? [] : [new URL(publicUrl).hostname],
    serve: (request, response, assertSameSite) => served.serve(request, response, assertSameSite),
    drain: async () => {
      await served.close();
      await tasks.close();
    },
  });
  tasks.start();
  served.start();
  return face;
}

class A2aListener {
  readonly #options: A2aHttpOptions;
  readonly #push: PushNotifications;
  readonly #cards = new CardServer();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: A2aHttpOptions) {
    const { tasks, agent, log, clock } = options;
    this.#options = options;
    const guard = createAddressGuard({ allow: agent.config.toml.a2a.webhook_hosts });
    this.#push = new PushNotifications({ jobs: tasks, guard, log, clock });
  }

  /** Goes on with webhooks of tasks that an earlier start left behind. */
  start(): void {
    const { engine } = this.#options.tasks;
    const takeOver = async () => {
      const due = await engine.listDue(MAX_DUE).catch(() => []);
      if (due.length > 0) await this.#push.takeOver(due);
    };
    this.#timer = setInterval(() => void takeOver(), TAKE_OVER_MS).unref();
    void takeOver();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#push.close();
  }

  async serve(
    request: IncomingMessage,
    response: ServerResponse,
    assertSameSite: () => void,
  ): Promise<void> {
    const url = URL.parse(request.url ?? '/', 'http://agent');
    const path = url?.pathname.replace(/\/+$/, '') ?? '';
    const trace = answerTrace({ headers: request.headers });
    let id: string | number | null = null;
    try {
      assertSameSite();
      if (!url) throw failure('not_found/path');
      const version = requestedVersion(request, url);
      const face = await this.#face(request, response, { path, version });
      if (path === CARD_PATH) {
        if (!/^(?:GET|HEAD)$/.test(request.method ?? '')) throw failure('not_found/path');
        const card = await face.getAgentCard();
        const isHybrid = version === LEGACY && this.#a2a.versions.includes(LEGACY);
        return await this.#cards.serve({ request, response }, card, isHybrid);
      }
      assertVersion(version, this.#a2a.versions);
      const body = await readBody(request);
      id = idOf(body);
      const exchange = { request, response, url, body, seen: UNSEEN, detach: () => {} };
      if (path !== '') return await serveRest({ exchange, face, path, trace });
      if (request.method !== 'POST') throw failure('not_found/path');
      const isLegacy = version === LEGACY;
      const checks = RPC_CHECKS;
      await serveJsonRpc({ exchange, face, version, isLegacy, trace, checks });
    } catch (error) {
      this.#refuse(response, error, id, path, trace);
    }
  }

  async #face(
    request: IncomingMessage,
    response: ServerResponse,
    { path, version }: { readonly path: string; readonly version: string },
  ): Promise<A2aFace> {
    const { tasks, tools, agent, needsKey, sign } = this.#options;
    const { name, version: own, config, guard } = agent;
    const { public_url: publicUrl, versions } = this.#a2a;
    const about = { name, version: own, description: config.agent.description, versions };
    const { headers } = request;
    const owner = path === CARD_PATH ? ANONYMOUS : await this.#authenticate(request);
    const left = new AbortController();
    response.once('close', () => left.abort(failure('client_gone')));
    const base = publicUrl?.replace(/\/+$/, '') ?? `http://${headers.host}`;
    return new A2aFace(
      { jobs: tasks, push: this.#push },
      {
        owner,
        signal: left.signal,
        isLegacy: version === LEGACY,
        agentId: guard.agentId,
        card: (isExtended) => sign(toCard(tools.list(), { ...about, base, needsKey }, isExtended)),
        awaitSkills: async () => {},
        begin: (task) => tasks.begin(task, owner, headers),
      },
    );
  }

  get #a2a() {
    return this.#options.agent.config.toml.a2a;
  }

  async #authenticate({ headersDistinct: headers, url }: IncomingMessage) {
    const { authenticator } = this.#options;
    return (await authenticator?.authenticate({ transport: 'http', headers, url })) ?? ANONYMOUS;
  }

  #refuse(
    response: ServerResponse,
    error: unknown,
    id: string | number | null,
    path: string,
    trace: Trace,
  ): void {
    const { code, details } = FabricError.from(error);
    this.#options.log.debug({ ...trace, code, reason: details.reason }, 'a2a: refused');
    writeRefusal(response, toA2aRefusal(error, id, path === '' ? 'json-rpc' : 'rest', trace));
  }
}

const UNSEEN = { isFor: () => {}, fail: () => {}, answeredWith: () => {} };

/** The JSON of a POST; `undefined` for a request without a body. */
async function readBody(request: IncomingMessage): Promise<unknown> {
  if (request.method !== 'POST') return undefined;
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = request.headers;
  if (encoding.toLowerCase() !== 'identity') throw failure('content_encoding');
  if (type !== undefined && !JSON_TYPE.test(type)) {
    throw a2aError('CONTENT_TYPE_NOT_SUPPORTED', 'The content type must be application/json');
  }
  const kept = new BoundedBody(MAX_BODY_BYTES);
  for await (const chunk of request) {
    if (!kept.push(chunk)) throw failure('body_too_large', { limit: MAX_BODY_BYTES });
  }
  const text = kept.toBuffer().toString('utf8');
  return text.trim() === '' ? undefined : parseBody(text);
}

function parseBody(text: string): unknown {
  if (jsonExcess(text, JSON_LIMITS)) throw failure('bad_body');
  try {
    return JSON.parse(text, (key, value) => {
      if (key === '__proto__') throw failure('bad_body');
      return value;
    });
  } catch (error) {
    throw FabricError.is(error) ? error : failure('not_json');
  }
}

function assertMessage(body: unknown): void {
  const { jsonrpc, method, id } = Object(body) as Record<string, unknown>;
  const isCalled = isObject(body) && jsonrpc === '2.0' && typeof method === 'string';
  if (isCalled && id !== undefined && (id === null || idOf(body) !== null)) return;
  throw failure('not_a_request');
}

function idOf(body: unknown): string | number | null {
  const { id } = Object(body) as { id?: unknown };
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : null;
}
