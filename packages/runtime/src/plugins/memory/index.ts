import { join, resolve } from 'node:path';
import { systemClock } from '@starloom/core';
import { definePlugin, defineTool } from '@starloom/sdk';
import { z } from 'zod';
import { failure } from '../../reasons.ts';
import { type Note, Notes, rankNotes } from './notes.ts';

const memoryConfigSchema = z.strictObject({
  path: z.string().min(1).optional().describe("The file; in the agent's state folder by default"),
  max_notes: z.int().positive().default(10_000),
});

const limit = z.int().min(1).max(100).default(10);

/** Notes that outlive a session. What is read from them is as untrusted as what they were made of. */
export default definePlugin({
  name: 'memory',
  config: memoryConfigSchema,
  setup({ path, max_notes }, host) {
    const usual = join(host.stateFolder ?? join(host.folder, '.starloom'), 'memory.jsonl');
    const notes = new Notes({
      path: path === undefined ? usual : resolve(host.folder, path),
      maxNotes: max_notes,
      now: systemClock.now,
      warn: host.warn,
    });
    const put = defineTool({
      name: 'memory:put',
      description: 'Keeps a note beyond this session.',
      command: 'remember',
      effect: 'act',
      targets: [],
      untrusted: false,
      parameters: z.strictObject({
        text: z.string().min(1).max(16_384),
        tags: z.array(z.string().min(1).max(64)).max(20).default([]),
      }),
      execute: async ({ text, tags }) => ({ id: (await notes.put(text, tags)).id }),
    });
    const search = defineTool({
      name: 'memory:search',
      description: 'Finds notes by their words, the best match first.',
      command: 'recall',
      effect: 'read',
      parameters: z.strictObject({ query: z.string().min(1).max(1_000), limit }),
      async execute(args) {
        return show(rankNotes(await notes.all(), args.query).slice(0, args.limit));
      },
    });
    const list = defineTool({
      name: 'memory:list',
      description: 'Lists notes, the newest first; only those with a tag, if one is given.',
      command: 'notes',
      effect: 'read',
      parameters: z.strictObject({ tag: z.string().min(1).optional(), limit }),
      async execute({ tag, limit: most }) {
        const kept = (await notes.all()).filter(({ tags }) => !tag || tags.includes(tag));
        return show(kept.reverse().slice(0, most));
      },
    });
    const forget = defineTool({
      name: 'memory:forget',
      description: 'Forgets a note for good.',
      command: 'forget',
      effect: 'act',
      targets: ['id'],
      untrusted: false,
      parameters: z.strictObject({ id: z.string().min(1).max(64) }),
      async execute({ id }) {
        if (await notes.forget(id)) return { forgotten: id };
        throw failure('unknown_note', { id });
      },
    });
    return { tools: [put, search, list, forget] };
  },
});

function show(notes: readonly Note[]): string {
  const lines = notes.map(({ id, at, text, tags }) => {
    const marks = tags.map((tag) => ` #${tag}`).join('');
    return `[${id}] ${at.slice(0, 10)}${marks}: ${text}`;
  });
  return lines.length === 0 ? '(no notes)' : lines.join('\n');
}
