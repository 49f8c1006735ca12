// Approval over MCP: the client that called is shown the call, why it is asked and the plan of its task, and its
// person answers. The question is the result of the request (`input_required`; the SDK asks older clients itself);
// the call waits here, and the request that brings the answer goes on with it. Created before the agent, which is
// opened with it; calls of clients that cannot be asked are not approved.

import { AsyncLocalStorage } from 'node:async_hooks';
import type {
  CallToolResult,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server';
import { FabricError, type Fields, type InputRequest } from '@starloom/core';
import { toGivenInputs, toInputRequired } from '@starloom/mcp-client/server';
import { approvalRequest, isApproval } from '../../core/permission.ts';
import type { Approve } from '../../core/seams.ts';
import { failure } from '../../reasons.ts';

/** How long a person may take. */
const MAX_WAIT_MS = 600_000;

export type Asking = CallToolResult | InputRequiredResult;
/** What a request of the client is answered with. */
type Leg = { readonly question: InputRequest } | { readonly result: CallToolResult };
type Run = (context: ServerContext) => Promise<CallToolResult>;

export class McpApprovals {
  readonly #current = new AsyncLocalStorage<AskingCall>();
  /** Calls that wait for an answer, by the state that the client brings back. */
  readonly #waiting = new Map<string, AskingCall>();

  readonly approve: Approve = async ({ call }, tool, verdict) =>
    await this.#current.getStore()?.ask(approvalRequest(call, tool, verdict));

  /** Runs a call of a client that shows forms, or goes on with it. */
  async serve(context: ServerContext, capabilities: Readonly<Fields>, run: Run): Promise<Asking> {
    const state = context.mcpReq.requestState();
    if (state === undefined) {
      const call = new AskingCall(context);
      call.begin((own) => this.#current.run(call, () => run(own)));
      return await this.#next(call, capabilities);
    }
    const call = this.#waiting.get(String(state));
    if (!call) throw failure('unknown_question');
    this.#waiting.delete(String(state));
    call.answer(context);
    return await this.#next(call, capabilities);
  }

  /** Ends what still waits. */
  close(): void {
    for (const call of this.#waiting.values()) call.end();
    this.#waiting.clear();
  }

  /** What the request is answered with: the result, or a question. */
  async #next(call: AskingCall, capabilities: Readonly<Fields>): Promise<Asking> {
    const next = await call.next();
    if ('result' in next) return next.result;
    const state = crypto.randomUUID();
    this.#waiting.set(state, call);
    const timer = setTimeout(() => {
      if (this.#waiting.delete(state)) call.end();
    }, MAX_WAIT_MS);
    timer.unref();
    return toInputRequired([next.question], state, capabilities) as unknown as InputRequiredResult;
  }
}

/** One call over several requests of its client. */
class AskingCall {
  readonly #control = new AbortController();
  #context: ServerContext;
  #result: Promise<Leg> | undefined;
  #question = Promise.withResolvers<Leg>();
  #answer = Promise.withResolvers<boolean>();
  /** One question at a time. */
  #before: Promise<unknown> = Promise.resolve();

  constructor(context: ServerContext) {
    this.#context = context;
  }

  begin(run: Run): void {
    const { mcpReq } = this.#context;
    const own = {
      _meta: mcpReq._meta,
      signal: this.#control.signal,
      notify: (...given: Parameters<typeof mcpReq.notify>) => this.#context.mcpReq.notify(...given),
    };
    const running = run({ ...this.#context, mcpReq: own as never });
    this.#result = running.then((result) => ({ result }));
  }

  ask(question: InputRequest): Promise<boolean> {
    const answered = this.#before.then(async () => {
      this.#answer = Promise.withResolvers();
      this.#question.resolve({ question });
      return await this.#answer.promise;
    });
    this.#before = answered.catch(() => {});
    return answered;
  }

  answer(context: ServerContext): void {
    this.#context = context;
    const [given] = toGivenInputs(context.mcpReq.inputResponses) ?? [];
    this.#question = Promise.withResolvers();
    const { action, content } = given?.response ?? {};
    this.#answer.resolve(action === 'accept' && isApproval(content));
  }

  /** The next question, or the result. The request that gets it is over then: its end cancels nothing. */
  async next(): Promise<Leg> {
    const { signal } = this.#context.mcpReq;
    const stop = () => this.#control.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    const asked = this.#question.promise;
    return await Promise.race([this.#result ?? asked, asked]).finally(() =>
      signal.removeEventListener('abort', stop),
    );
  }

  end(): void {
    this.#control.abort(new FabricError('CANCELLED', 'No answer came'));
    this.#answer.resolve(false);
  }
}
