import type { Block } from '@starloom/sdk';
import type { Labeller } from './seams.ts';
import type { SessionFile, SessionLine } from './session-file.ts';

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
  const at = Math.max(
    0,
    blocks.findIndex(({ id }) => folded.has(id)),
  );
  return blocks.toSpliced(at, 0, summary).filter(({ id }) => !folded.has(id));
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
