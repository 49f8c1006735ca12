import { appendFileSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { tryParseJson } from '@starloom/core';
import type { Block } from '@starloom/sdk';
import { z } from 'zod';
import type { Labeller } from './seams.ts';

/** A conversation. What is added is on disk at once, where it has a file. */
export class AgentSession {
  readonly id: string;
  readonly #file: SessionFile | undefined;
  #blocks: readonly Block[] = [];

  constructor(id: string, file?: SessionFile) {
    this.id = id;
    this.#file = file;
  }

  /** Oldest first; never changed in place. */
  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  add(...blocks: readonly Block[]): void {
    this.#blocks = [...this.#blocks, ...blocks];
    this.#file?.append(blocks.map((block) => ({ kind: 'block', block })));
  }

  /** Puts `summary` where the first of `folded` stood, and takes all of those out. */
  fold(summary: Block, folded: readonly Block[]): void {
    const ids = folded.map(({ id }) => id);
    this.#blocks = withoutFolded(this.#blocks, summary, ids);
    this.#file?.append([{ kind: 'folded', summary, ids }]);
  }

  /** From what was read of its file. A call that was never answered is answered now. */
  restore(lines: readonly SessionLine[], labeller: Labeller): void {
    let blocks: readonly Block[] = [];
    const known = new Set<string>();
    for (const line of lines) {
      if (line.kind === 'folded') blocks = withoutFolded(blocks, line.summary, line.ids);
      if (line.kind !== 'block' || known.has(line.block.id)) continue;
      known.add(line.block.id);
      blocks = [...blocks, line.block];
    }
    this.#blocks = closeOpenCalls(blocks, labeller);
  }

  /** Tries again what could not be written, if anything; throws when it still cannot be. */
  assertSaved(): void {
    this.#file?.assertSaved();
  }
}

function withoutFolded(
  blocks: readonly Block[],
  summary: Block,
  ids: readonly string[],
): readonly Block[] {
  const folded = new Set(ids);
  const first = blocks.findIndex(({ id }) => folded.has(id));
  return blocks.toSpliced(Math.max(0, first), 0, summary).filter(({ id }) => !folded.has(id));
}

/**
 * The blocks as every model accepts them: each call has its result. One that is missing, because the
 * process died first, is made.
 */
function closeOpenCalls(blocks: readonly Block[], labeller: Labeller): Block[] {
  const closed: Block[] = [];
  const open = new Map<string, string>();
  const answerOpen = () => {
    for (const [id, name] of open) closed.push(missingResult(id, name, labeller));
    open.clear();
  };
  for (const block of blocks) {
    if (block.role !== 'tool') answerOpen();
    closed.push(block);
    for (const { toolCall, toolResult } of block.segments) {
      if (toolResult) open.delete(toolResult.id);
      if (toolCall?.id !== undefined) open.set(toolCall.id, toolCall.name);
    }
  }
  answerOpen();
  return closed;
}

/** A result in the core's own words, as the answer to a call. */
function missingResult(id: string, name: string, labeller: Labeller): Block {
  const text = `There is no result of ${name}: the agent was stopped before it came. It may have run.`;
  const toolResult = { id, name, output: [{ type: 'text' as const, text }], isError: true };
  return {
    ...labeller.ofObservation(text),
    role: 'tool',
    segments: [{ type: 'tool_result', toolResult }],
  };
}

const blockSchema = z.looseObject({
  id: z.string(),
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  segments: z.array(z.looseObject({ type: z.string() })),
  trust: z.enum(['trusted', 'vetted', 'untrusted']),
  type: z.enum(['instruction', 'data']),
  source: z.string(),
});

const lineSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('session'), version: z.literal(1), id: z.string(), at: z.number() }),
  z.object({ kind: z.literal('block'), block: blockSchema }),
  z.object({ kind: z.literal('folded'), summary: blockSchema, ids: z.array(z.string()) }),
]);

type SessionLine =
  | { kind: 'session'; version: 1; id: string; at: number }
  | { kind: 'block'; block: Block }
  /** `summary` stands where the blocks of these ids stood. */
  | { kind: 'folded'; summary: Block; ids: readonly string[] };

/**
 * A session on disk: one JSON object per line, only ever appended, whole lines at a time. What was appended
 * is in the file when `append` returns: a short write into the page cache costs a tenth of a trip through
 * the thread pool. A process that dies while writing leaves at most one broken line, which reading skips.
 */
export class SessionFile {
  readonly path: string;
  /** Lines that are still to be written, or that could not be. */
  #pending = '';
  #endsInside = false;
  #failure: unknown;

  constructor(path: string) {
    this.path = path;
  }

  /** `undefined` when there is no such session. */
  async read(): Promise<{ lines: SessionLine[]; broken: number } | undefined> {
    const text = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    this.#endsInside = text !== '' && !text.endsWith('\n');
    const written = text.split('\n').filter((line) => line.trim() !== '');
    const lines = written.flatMap((line) => parseLine(line) ?? []);
    return { lines, broken: written.length - lines.length };
  }

  /** The first line of a new session; it goes into the file with what is appended first. */
  begin(line: SessionLine): void {
    this.#pending = toText([line]);
  }

  /** What goes wrong is thrown by `assertSaved`. */
  append(lines: readonly SessionLine[]): void {
    this.#pending += toText(lines);
    this.#write();
  }

  /** Tries again what could not be written; throws when it still cannot be. */
  assertSaved(): void {
    if (this.#failure !== undefined) this.#write();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #write(): void {
    try {
      appendText(this.path, this.#endsInside ? `\n${this.#pending}` : this.#pending);
      this.#pending = '';
      this.#endsInside = false;
      this.#failure = undefined;
    } catch (error) {
      this.#endsInside = true;
      this.#failure = error;
    }
  }
}

/** A folder that is not there is made. */
function appendText(path: string, text: string): void {
  try {
    appendFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    appendFileSync(path, text, { mode: 0o600 });
  }
}

function toText(lines: readonly SessionLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function parseLine(line: string): SessionLine | undefined {
  return lineSchema.safeParse(tryParseJson(line)).data as SessionLine | undefined;
}
