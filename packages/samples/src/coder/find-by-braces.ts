// Functions of a language with braces. The text before a block, its head, says whether the block is
// a function. One pass over the source, and heads beyond a length are not looked at, so that no
// source takes long.

import type { FoundFunction } from './find-functions.ts';
import type { Language } from './language.ts';

export function findByBraces(masked: string, { functions }: Language): FoundFunction[] {
  return new BraceScan(masked, functions).run();
}

const MAX_HEAD = 500;
/** After these a brace opens a value or a type, not a block. */
const BEFORE_VALUE = new Set(['=', ':', '|', '&', '<', ',', '?', '(']);

interface Frame {
  readonly name: string | undefined;
  readonly isBlock: boolean;
  readonly firstLine: number;
  /** Where the text begins that may turn out to be a head. */
  head: number | undefined;
  headLine: number;
  /** The next character begins a new head. */
  isFresh: boolean;
  depth: number;
}

class BraceScan {
  readonly #masked: string;
  readonly #functions: readonly RegExp[];
  readonly #found: FoundFunction[] = [];
  readonly #outer: Frame[] = [];
  #frame: Frame = newFrame(undefined, false, 0);
  #line = 0;

  constructor(masked: string, functions: readonly RegExp[]) {
    this.#masked = masked;
    this.#functions = functions;
  }

  run(): FoundFunction[] {
    for (let at = 0; at < this.#masked.length; at += 1) this.#take(this.#masked[at] ?? '', at);
    return this.#found;
  }

  #take(character: string, at: number): void {
    switch (character) {
      case ' ':
      case '\t':
      case '\r':
        break;
      case '\n':
        this.#line += 1;
        this.#frame.isFresh = true;
        break;
      case '{':
        this.#open(this.#headBefore(at));
        break;
      case '(':
      case '[':
        this.#begin(at);
        this.#open(undefined);
        break;
      case '}':
      case ')':
      case ']':
        this.#close();
        break;
      case ';':
        this.#endHead();
        break;
      default:
        this.#begin(at);
    }
  }

  /** A brace on a line of its own still belongs to the head above it. */
  #begin(at: number): void {
    if (!this.#frame.isFresh) return;
    this.#frame.head = at;
    this.#frame.headLine = this.#line;
    this.#frame.isFresh = false;
  }

  #endHead(): void {
    this.#frame.head = undefined;
    this.#frame.isFresh = true;
  }

  #headBefore(at: number): string {
    const { head = at } = this.#frame;
    return at - head > MAX_HEAD ? '' : this.#masked.slice(head, at).trimEnd();
  }

  /** `head` is undefined for what is no brace. */
  #open(head: string | undefined): void {
    const isBlock = head !== undefined && !BEFORE_VALUE.has(head.at(-1) ?? '');
    const name = isBlock ? this.#nameIn(head) : undefined;
    const { headLine } = this.#frame;
    this.#outer.push(this.#frame);
    this.#frame = newFrame(name, isBlock, name === undefined ? this.#line : headLine);
  }

  #close(): void {
    const { name, isBlock, firstLine, depth } = this.#frame;
    const outer = this.#outer.pop();
    if (outer === undefined) return;
    if (name !== undefined) this.#found.push({ name, firstLine, lastLine: this.#line, depth });
    this.#frame = outer;
    outer.depth = Math.max(outer.depth, depth + (isBlock ? 1 : 0));
    if (isBlock) this.#endHead();
  }

  #nameIn(head: string): string | undefined {
    for (const pattern of this.#functions) {
      const name = pattern.exec(head)?.[1];
      if (name !== undefined) return name;
    }
    return undefined;
  }
}

function newFrame(name: string | undefined, isBlock: boolean, firstLine: number): Frame {
  return {
    name,
    isBlock,
    firstLine,
    head: undefined,
    headLine: firstLine,
    isFresh: true,
    depth: 0,
  };
}
