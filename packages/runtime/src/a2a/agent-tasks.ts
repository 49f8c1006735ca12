// The tasks that others give the agent. Each is a job of the agent's own: it runs without its client, can be
// read, followed and cancelled by its owner alone, and one that a crash interrupted ends as failed.

import { Message } from '@a2a-js/sdk';
import { LABEL_CONTEXT, META_BUDGET, META_REPLY } from '@starloom/a2a';
import type { NewTask, TaskJobs, TaskOwner } from '@starloom/a2a/tasks';
import {
  type Artifact,
  type Clock,
  type EventBody,
  type FinalData,
  type GivenInput,
  type Hop,
  type JobEngine,
  type Log,
  openInputs,
  RecentMap,
  type StoredJob,
  sha256Hex,
} from '@starloom/core';
import {
  JobDesk,
  type JobRunContext,
  JobRunner,
  type JobRunResult,
  type RunJob,
} from '@starloom/jobs';
import type { ContentSegment } from '@starloom/sdk';
import { type Budget, budgetSchema } from '../core/budgets.ts';
import type { AgentEvent } from '../core/event-bus.ts';
import { callerOf, type ExposedTools } from '../core/exposed-tools.ts';
import { parseMedia, toBlocks } from '../core/media.ts';
import type { AgentFace } from '../core/seams.ts';
import type { AgentGuard } from '../guard.ts';
import type { MandateCheck } from '../mandate-check.ts';
import { toBody } from '../mcp/server/to-result.ts';
import { failure } from '../reasons.ts';
import { assertChoice, type TaskApprovals } from './approvals.ts';
import { assertAccepted } from './card.ts';
import { type AskedTask, readTask } from './read-task.ts';

export interface AgentTasksOptions {
  readonly agent: AgentFace;
  readonly guard: AgentGuard;
  readonly tools: ExposedTools;
  readonly engine: JobEngine;
  /** With which the agent was opened; absent: what needs approval is denied. */
  readonly approvals?: TaskApprovals | undefined;
  readonly checkMandate?: MandateCheck | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is kept of a task besides its job. The mandate of its caller is not. */
interface TaskCall {
  readonly tool: string;
  readonly asked: AskedTask;
  readonly hop: Hop;
  readonly sessionId: string;
  readonly budget?: Budget | undefined;
  readonly source: unknown;
}

/** A turn has its own limit, which stands still while the caller is asked. */
const LONGEST_MS = 86_400_000;
/** Of tasks that are over. */
const KEEP_MS = { onDisk: 7 * 86_400_000, inMemory: 3_600_000 };
const QUOTA = { jobs: 1_000, bytes: 64 * 1024 * 1024 };
const MAX_AT_ONCE = 64;
const MAX_MANDATES = 10_000;
const GRACE_MS = 5_000;

export class AgentTasks implements TaskJobs {
  readonly desk: JobDesk;
  readonly engine: JobEngine;
  readonly #options: AgentTasksOptions;
  readonly #runner: JobRunner;
  /** By job. In memory alone: a credential of another is not written down. */
  readonly #mandates = new RecentMap<string>(MAX_MANDATES);

  constructor(options: AgentTasksOptions) {
    const { engine, clock, log } = options;
    this.#options = options;
    this.engine = engine;
    this.desk = new JobDesk(engine, QUOTA);
    this.#runner = new JobRunner({
      engine,
      run: this.#run,
      concurrency: MAX_AT_ONCE,
      keepMs: engine.kind === 'memory' ? KEEP_MS.inMemory : KEEP_MS.onDisk,
      clock,
      log,
    });
  }

  start(): void {
    this.#runner.start();
  }

  async close(): Promise<void> {
    await this.#runner.stop({ graceMs: GRACE_MS });
    await this.engine.close();
  }

  /** Checks a message as far as it can be without running it, and stores it. */
  async begin(
    { message, metadata, contextId, accepted, last }: NewTask,
    owner: TaskOwner,
    headers: Readonly<Record<string, unknown>>,
  ): Promise<StoredJob> {
    const { guard, tools, checkMandate } = this.#options;
    assertAccepted(accepted);
    const checked = await checkMandate?.(metadata, headers);
    const before = (await last())?.capability;
    const { tool, asked } = readTask(message, metadata, tools, before);
    using call = guard.admit({ meta: metadata, headers, mandated: checked?.mandated }, tool.name);
    const isTurn = asked.kind === 'turn';
    const { job } = await this.desk.submit({
      principalId: owner.id,
      capability: tool.name,
      agentId: guard.agentId,
      trace: call.trace,
      timeoutMs: LONGEST_MS,
      retry: { attempts: 1 },
      labels: { [LABEL_CONTEXT]: contextId },
      call: {
        tool: tool.name,
        asked,
        hop: call.hop,
        sessionId: isTurn ? sessionOf(owner, contextId) : `a2a-${crypto.randomUUID()}`,
        budget: parseBudget(metadata[META_BUDGET]),
        source: Message.toJSON({ ...message, contextId }),
      } satisfies TaskCall,
    });
    if (checked) this.#mandates.set(job.id, checked.mandate);
    return job;
  }

  find(owner: TaskOwner, id: unknown): Promise<StoredJob> {
    return this.desk.status(owner.id, id);
  }

  /** A task of a tool that is not exposed any more stays its owner's. */
  maySee(): boolean {
    return true;
  }

  async sourceOf({ id }: StoredJob): Promise<unknown> {
    return ((await this.engine.callOf(id)) as TaskCall | undefined)?.source;
  }

  async input(ownerId: string, id: string, inputs: readonly GivenInput[]): Promise<StoredJob> {
    const questions = openInputs(await this.desk.status(ownerId, id));
    for (const { id: asked, response } of inputs) {
      const question = questions.find((one) => one.id === asked);
      if (question && response.action === 'accept') assertChoice(question, response.content);
    }
    return await this.desk.input(ownerId, id, inputs);
  }

  readonly #run: RunJob = async (given, context): Promise<JobRunResult> => {
    const { guard, approvals } = this.#options;
    const call = given as TaskCall;
    await context.markSent();
    using _ = guard.enter({ trace: context.job.trace, hop: call.hop });
    using __ = approvals?.serve(call.sessionId, context);
    const relay = new EventRelay(context, guard.agentId);
    const { segments, ...cost } = await this.#serve(call, context, relay);
    const artifacts = segments.flatMap(toArtifact);
    for (const data of artifacts) relay.emit({ type: 'artifact', data });
    await relay.flush();
    const final = toFinal(segments);
    const upstream = relay.reply && { _meta: { [META_REPLY]: relay.reply } };
    const result = {
      ...final,
      ...(artifacts.length > 0 && { artifacts }),
      ...(upstream && { upstream }),
    };
    return { state: 'succeeded', agentId: guard.agentId, final, result: { result, ...cost } };
  };

  async #serve(call: TaskCall, { job, signal }: JobRunContext, { note }: EventRelay) {
    const { agent } = this.#options;
    const { tool, asked, hop, sessionId, budget } = call;
    const mandate = this.#mandates.get(job.id);
    const known = { trace: job.trace, hop, mandate, signal, sessionId, onEvent: note };
    const source = callerOf(hop, `agent:${job.principal_id}`);
    if (asked.kind === 'turn') {
      const { contextId, messageId } = Message.fromJSON(call.source);
      const task = { id: job.id, contextId, messageId };
      return await agent.turn(asked.segments, { ...known, origin: 'remote', source, budget, task });
    }
    const outcome = await agent.callTool({
      ...known,
      origin: 'remote',
      call: { name: tool, args: asked.args },
    });
    if (outcome.error) throw outcome.error;
    return { segments: outcome.result.output };
  }
}

/** Another caller with the same context has another session. */
function sessionOf({ id }: TaskOwner, contextId: string): string {
  return `a2a-${sha256Hex(`${id}\n${contextId}`).slice(0, 32)}`;
}

/** What the agent thought, and which tools it used, is not part of its answer. */
function toFinal(segments: readonly ContentSegment[]): FinalData {
  const answer = segments.flatMap(({ type, text }) => (type === 'text' ? (text ?? '') : []));
  const others = segments.filter(({ type }) => type !== 'text' && type !== 'file' && type !== 'ui');
  const content = others.flatMap(toBlocks).map((block) => ({ ...block }));
  return { answer: answer.join(''), ...(content.length > 0 && { content }) };
}

/** Files stand beside the answer under their own names, and what is data stays data. */
function toArtifact(segment: ContentSegment, at: number): Artifact | [] {
  const { type, name, ui } = segment;
  const id = `${type}-${at + 1}`;
  if (type === 'ui') return { id, media_type: 'application/json', text: JSON.stringify(ui) };
  if (type !== 'file') return [];
  const media = parseMedia(segment);
  const about = { id, media_type: media.mimeType, ...(name !== undefined && { name }) };
  if (media.kind === 'url') return { ...about, uri: media.url };
  return { ...about, data: Buffer.from(media.base64, 'base64').toString('base64') };
}

/** What happens in a turn as events of its task, in order. The text of an earlier step is no part of the answer. */
class EventRelay {
  readonly #context: JobRunContext;
  readonly #agentId: string;
  #last: Promise<void> = Promise.resolve();
  #hasText = false;
  /** How the last answer wants to be given. */
  reply: 'message' | undefined;

  constructor(context: JobRunContext, agentId: string) {
    this.#context = context;
    this.#agentId = agentId;
  }

  readonly note = (event: AgentEvent): void => {
    if (event.type === 'EXEC:STEP' && this.#hasText) {
      this.#hasText = false;
      this.emit({ type: 'status', data: { state: 'discard', message: 'The agent goes on' } });
    }
    if (event.type === 'EXEC:MODEL') this.reply = event.data.metadata?.reply;
    const body = toBody(event);
    if (!body || body.type === 'final') return;
    if (body.type === 'token') this.#hasText = true;
    if (body.type === 'status') this.#hasText = false;
    this.emit(body);
  };

  /** A lost claim ends the turn by its signal; here it is not reported again. */
  async flush(): Promise<void> {
    await this.#last;
  }

  emit(body: Exclude<EventBody, { type: 'final' }>): void {
    this.#last = this.#context.emit(body, this.#agentId).catch(() => {});
  }
}

/** A task whose budget cannot be read is refused: without it the task could use more than was granted. */
function parseBudget(given: unknown): Budget | undefined {
  const parsed = budgetSchema.optional().safeParse(given);
  if (parsed.success) return parsed.data;
  throw failure('bad_budget', { problem: parsed.error.issues[0]?.message });
}
