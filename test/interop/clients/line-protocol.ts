// Drives one MCP client by JSON lines: a request per line on stdin, answers on stdout. The first
// request is `connect`. `list`, `call` and `read` run side by side; `cancel` ends one of them. Every
// answer carries the id of its request: any number of `progress` lines, then one of `result`,
// `error` or `cancelled`. An `asked` line shows a question that the client received; it answers with
// the next of the answers that `connect` brought.

import { createInterface } from 'node:readline';

export type Target =
  | { readonly url: string; readonly key: string }
  | {
      readonly command: string;
      readonly args: string[];
      readonly env: Record<string, string>;
      readonly cwd: string;
    };

/** What a client needs to connect: where to, and what it calls itself. */
export type ConnectRequest = Target & {
  readonly name: string;
  /** Which revision to ask for, where the client can choose. */
  readonly mode?: 'auto' | 'legacy';
  /** What the client answers, in this order. It declares what it has answers for, and no more. */
  readonly answers?: Answers;
};

export interface Answers {
  readonly elicitation?: ElicitAnswer[];
  readonly sampling?: SamplingAnswer[];
}

export type ElicitAnswer = {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, string | number | boolean>;
};

export type SamplingAnswer = {
  readonly role: 'assistant';
  readonly model: string;
  readonly content: { readonly type: 'text'; readonly text: string };
};

export type DriverRequest =
  | { readonly op: 'list' }
  | {
      readonly op: 'call';
      readonly name: string;
      readonly arguments: Record<string, unknown>;
    }
  | { readonly op: 'read'; readonly uri: string }
  | { readonly op: 'cancel'; readonly target: number };

export interface RequestOptions {
  readonly signal: AbortSignal;
  readonly onprogress: (progress: unknown) => void;
}

/** The client under test, connected. */
export interface DriverSession {
  readonly protocolVersion: string | undefined;
  list(): Promise<unknown[]>;
  call(
    call: { readonly name: string; readonly arguments: Record<string, unknown> },
    options: RequestOptions,
  ): Promise<unknown>;
  read(uri: string): Promise<unknown>;
  close(): Promise<void>;
}

type Identified<Request> = Request & { readonly id: number };

export async function serve(
  connect: (request: ConnectRequest) => Promise<DriverSession>,
): Promise<void> {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const first = JSON.parse((await lines.next()).value ?? '') as Identified<ConnectRequest>;
  const session = await connect(first);
  emit({ id: first.id, result: { protocol_version: session.protocolVersion } });
  const running = new Map<number, AbortController>();
  for await (const line of lines) {
    const request = JSON.parse(line) as Identified<DriverRequest>;
    if (request.op === 'cancel') {
      running.get(request.target)?.abort();
      continue;
    }
    const controller = new AbortController();
    running.set(request.id, controller);
    void answer(session, request, controller.signal);
  }
  await session.close();
}

/** Shows a question, and takes the next answer to it. */
export function answerNext<Answer>(asked: unknown, answers: Answer[]): Answer {
  emit({ event: 'asked', asked });
  const answer = answers.shift();
  if (answer === undefined) throw new Error('no answer is left');
  return answer;
}

export function emit(line: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function answer(
  session: DriverSession,
  request: Identified<DriverRequest>,
  signal: AbortSignal,
): Promise<void> {
  const { id } = request;
  try {
    const options = { signal, onprogress: (progress: unknown) => emit({ id, progress }) };
    emit({ id, result: await perform(session, request, options) });
  } catch (error) {
    if (signal.aborted) return emit({ id, cancelled: true });
    const { code = null, message } = error as Error & { code?: unknown };
    emit({ id, error: { code, message } });
  }
}

async function perform(
  session: DriverSession,
  request: DriverRequest,
  options: RequestOptions,
): Promise<unknown> {
  if (request.op === 'list') return { tools: await session.list() };
  if (request.op === 'read') return session.read(request.uri);
  if (request.op === 'call') return session.call(request, options);
  throw new Error(`no such operation: ${request.op}`);
}
