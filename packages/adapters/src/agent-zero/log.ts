// The log of a chat as our events. It is read again and again; an entry may come several times and
// grow in between, so entries are known by their number, and the last form of each counts.

import { type EventBody, toFields } from '@starloom/core';
import { cleanText } from '@starloom/wire';
import { z } from 'zod';
import { exceedsDepth } from '../upstream/exceeds-depth.ts';

const MAX_TEXT = 2_000;
/** Of one reading. */
const MAX_ENTRIES = 1_000;

const TOOLS: ReadonlySet<string> = new Set(['tool', 'mcp', 'code_exe', 'browser', 'subagent']);
/** What the caller wrote, and what comes as the answer. */
const SILENT: ReadonlySet<string> = new Set(['user', 'input', 'response']);

const entrySchema = z.object({
  no: z.int().nonnegative(),
  type: z.string(),
  heading: z.string().nullish(),
  content: z.string().nullish(),
  kvps: z.record(z.string(), z.unknown()).nullish(),
});

type Entry = z.infer<typeof entrySchema>;

export class ChatLog {
  /** Number of the newest entry that was looked at. */
  #seen = -1;
  #open: Entry | undefined;

  /** Everything so far was said before this call. */
  skip(answer: unknown): void {
    for (const { no } of entriesIn(answer)) this.#seen = Math.max(this.#seen, no);
  }

  /** What a reading of the log adds. */
  *read(answer: unknown): Generator<EventBody, void, undefined> {
    for (const entry of entriesIn(answer)) {
      if (this.#open?.no === entry.no) this.#open = entry;
      if (entry.no <= this.#seen) continue;
      this.#seen = entry.no;
      yield* this.end();
      if (TOOLS.has(entry.type)) {
        this.#open = entry;
        yield toolCall(entry, 'start');
      } else if (!SILENT.has(entry.type)) {
        const message = textOf(entry.heading) || textOf(entry.content);
        if (message) yield { type: 'progress', data: { message } };
      }
    }
  }

  /** A tool is done when another entry follows, or the call is over. */
  *end(): Generator<EventBody, void, undefined> {
    const open = this.#open;
    this.#open = undefined;
    if (open) yield toolCall(open, 'end');
  }
}

/** In their order, each once. */
function entriesIn(answer: unknown): Entry[] {
  const { items } = toFields(toFields(answer).log);
  const entries = new Map<number, Entry>();
  for (const item of Array.isArray(items) ? items.slice(-MAX_ENTRIES) : []) {
    const entry = entrySchema.safeParse(item);
    if (entry.success) entries.set(entry.data.no, entry.data);
  }
  return [...entries.values()].sort((one, other) => one.no - other.no);
}

function toolCall({ no, type, kvps, content }: Entry, phase: 'start' | 'end'): EventBody {
  const { tool_name, tool_args, ...rest } = kvps ?? {};
  const given = tool_args ?? rest;
  return {
    type: 'tool_call',
    data: {
      id: `log-${no}`,
      name: typeof tool_name === 'string' && tool_name !== '' ? tool_name : type,
      args: exceedsDepth(given) ? {} : given,
      phase,
      ...(phase === 'end' && { result: textOf(content) }),
    },
  };
}

/** Headings begin with the address of an icon. */
function textOf(text: string | null | undefined): string {
  return cleanText((text ?? '').replace(/^icon:\/\/\S*\s*/, ''), MAX_TEXT) ?? '';
}
