// Agents of a LangGraph server. Each assistant is a capability, each call a run on a thread; the thread
// is the conversation. An interrupt of the graph is a question, answered by resuming the thread.

import { randomUUID } from 'node:crypto';
import {
  type AgentDescription,
  type Attachment,
  type CallContext,
  type Capability,
  capabilitySchema,
  type EventBody,
  FabricError,
  toCapabilityName,
  toFields,
} from '@starloom/core';
import { cleanText } from '@starloom/wire';
import type { HttpRequest } from '../http-client.ts';
import { JsonRequests } from '../json-requests.ts';
import type { OptionsOf } from '../options.ts';
import { HttpProfile, type ProfileCall } from '../profile.ts';
import { toSources } from '../template/build-request.ts';
import { fill } from '../template/placeholders.ts';
import { type Interrupt, runWithQuestions, toPayload } from './interrupts.ts';
import { LangGraphTranslator } from './langgraph-events.ts';
import {
  ASK,
  badAnswer,
  isImage,
  keptId,
  refusedFile,
  toImagePart,
  toInputParts,
} from './shared.ts';

const STREAM_MODES = ['values', 'messages-tuple', 'updates', 'custom'];
const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const PAGE = 100;
const MAX_ASSISTANTS = 1_000;

export class LangGraphProfile extends HttpProfile<OptionsOf<'langgraph'>> {
  #offered: readonly Capability[] | undefined;

  override get healthPath(): string {
    return this.client.target.pathOf('/ok');
  }

  call(call: ProfileCall): AsyncGenerator<EventBody, void, undefined> {
    return new LangGraphCall(this.options, call).events();
  }

  override async describe({ signal, log }: CallContext): Promise<AgentDescription> {
    const { capabilities } = this.manifest;
    if (capabilities) return { capabilities };
    const requests = new JsonRequests(this.client, { signal, log });
    const found = new Map<string, Capability>();
    for (let offset = 0; offset < MAX_ASSISTANTS; offset += PAGE) {
      const path = this.client.target.pathOf('/assistants/search');
      const body = { limit: PAGE, offset };
      const assistants = await requests.json({ method: 'POST', path, body });
      if (!Array.isArray(assistants)) throw badAnswer('it does not list its assistants');
      for (const capability of assistants.flatMap(toCapability)) {
        if (!found.has(capability.name)) found.set(capability.name, capability);
      }
      if (assistants.length < PAGE) break;
    }
    this.#offered = [...found.values()];
    return { capabilities: this.#offered };
  }

  override async find(name: string, context: CallContext): Promise<Capability | undefined> {
    if (!this.#offered) await this.describe(context);
    return this.#offered?.find((capability) => capability.name === name);
  }
}

class LangGraphCall {
  readonly #options: OptionsOf<'langgraph'>;
  readonly #call: ProfileCall;
  readonly #threadId: string;
  #runId: string | undefined;
  #over = false;

  constructor(options: OptionsOf<'langgraph'>, call: ProfileCall) {
    const kept = keptId(call.context, 'thread_id');
    this.#options = options;
    this.#call = call;
    this.#threadId = kept !== undefined && ID.test(kept) ? kept : randomUUID();
  }

  async *events(): AsyncGenerator<EventBody, void, undefined> {
    try {
      yield* runWithQuestions<object>({
        context: this.#call.context,
        begin: () => ({ input: this.#toInput() }),
        resume: (ids, answers) => ({ command: { resume: toResume(ids, answers.map(toPayload)) } }),
        run: (start) => this.#run(start),
        handle: () => this.#handle(),
      });
    } finally {
      if (!this.#over) void this.#cancel();
    }
  }

  async *#run(start: object): AsyncGenerator<EventBody, readonly Interrupt[], undefined> {
    const { requests, context } = this.#call;
    const translator = new LangGraphTranslator(requests.client.excerpt, this.#options.answer);
    this.#runId = undefined;
    this.#over = false;
    try {
      for await (const item of requests.stream(this.#request(start))) {
        if (item.type === 'value') yield* translator.fromEvent(item.event, item.value);
        if (ID.test(translator.runId ?? '')) this.#runId = translator.runId;
        if (item.type === 'final' && item.value !== undefined) translator.fromState(item.value);
      }
    } catch (error) {
      this.#over = FabricError.is(error) && error.isAgentAnswer;
      throw error;
    }
    this.#over = translator.interrupts.length > 0;
    if (this.#over) return translator.interrupts;
    const ending = [...translator.ending()];
    this.#over = true;
    context.keep?.(this.#handle());
    yield* ending;
    return [];
  }

  #request(start: object): HttpRequest {
    const { capability } = this.#call;
    const { assistant, config } = this.#options;
    const body = {
      assistant_id: capability.tool ?? assistant ?? capability.name,
      ...start,
      stream_mode: STREAM_MODES,
      on_disconnect: 'cancel',
      if_not_exists: 'create',
      multitask_strategy: 'reject',
      ...(config && { config }),
    };
    return { method: 'POST', path: this.#runs('/stream'), body };
  }

  #toInput(): unknown {
    const { input } = this.#options;
    if (input !== undefined) return fill(input, toSources(this.#call));
    const { text, files } = toInputParts(this.#call.envelope.input);
    const content = files.length === 0 ? text : [{ type: 'text', text }, ...files.map(toPart)];
    return { messages: [{ role: 'user', content }] };
  }

  #handle() {
    return { thread_id: this.#threadId };
  }

  /** A run that stopped when the connection closed is not there to be cancelled. */
  async #cancel(): Promise<void> {
    if (this.#runId === undefined) return;
    const path = this.#runs(`/${this.#runId}/cancel`);
    await this.#call.requests.late('the run was not cancelled', (late) =>
      late.json({ method: 'POST', path }, { texts: true }),
    );
  }

  #runs(below: string): string {
    const { target } = this.#call.requests.client;
    return target.pathOf(`/threads/${this.#threadId}/runs${below}`);
  }
}

/** One answer as it is; several by the ids of their interrupts. */
function toResume(ids: readonly string[], payloads: readonly unknown[]): unknown {
  if (ids.length <= 1) return payloads[0] ?? null;
  return Object.fromEntries(ids.map((id, index) => [id, payloads[index] ?? null]));
}

function toPart(file: Attachment): object {
  if (isImage(file)) return toImagePart(file);
  throw refusedFile(file);
}

function toCapability(value: unknown): Capability[] {
  const { assistant_id, graph_id, name, description } = toFields(value);
  if (typeof assistant_id !== 'string' || !ID.test(assistant_id)) return [];
  const called = [name, graph_id].find((each) => typeof each === 'string' && each !== '');
  if (typeof called !== 'string') return [];
  const said = cleanText(description, 4_096);
  return [
    capabilitySchema.parse({
      ...ASK,
      name: toCapabilityName(called),
      tool: assistant_id,
      description: said || `Runs the assistant ${cleanText(called, 64)}`,
    }),
  ];
}
