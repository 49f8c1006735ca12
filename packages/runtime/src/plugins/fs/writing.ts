import { lstat } from 'node:fs/promises';
import { defineTool, type ITool, type ToolContext } from '@starloom/sdk';
import { assertNotGit, fileFailure, readText, replaceFile } from '@starloom/wire/files';
import { z } from 'zod';
import { CALL, type CoreContext } from '../../core/seams.ts';
import { failure } from '../../reasons.ts';
import { assertFits, type FsTools, readWhole } from './reading.ts';

const writeSchema = z.strictObject({
  path: z.string().describe('The file, relative to the root; folders are made as needed'),
  content: z.string().describe('The whole new content'),
});

export function writeFileTool(tools: FsTools): ITool {
  const { roots, maxBytes, turns } = tools;
  return defineTool({
    name: 'fs:write_file',
    description: 'Writes a text file: a new one, or in place of the one that is there.',
    command: 'write',
    effect: 'act',
    targets: ['path'],
    untrusted: false,
    parameters: writeSchema,
    async execute({ path: given, content }, context) {
      assertFits(content, maxBytes);
      const path = await roots.locate(given);
      const write = async () => {
        const before = await textBefore(tools, path, context);
        const created = await replace(tools, { path, content }, context);
        showEdit(context, { path, before, after: content });
        return created;
      };
      const created = await turns
        .take(path, write)
        .catch((error: unknown) => Promise.reject(fileFailure(error, given)));
      return { path: roots.show(path), bytes: Buffer.byteLength(content), created };
    },
  });
}

const editSchema = z.strictObject({
  path: z.string().describe('The file, relative to the root'),
  old_text: z.string().min(1).describe('What stands there now, exactly, with its line ends'),
  new_text: z.string().describe('What shall stand there'),
  all: z.boolean().default(false).describe('Every occurrence; otherwise there must be just one'),
});

export function editFileTool(tools: FsTools): ITool {
  const { roots, maxBytes, turns } = tools;
  return defineTool({
    name: 'fs:edit_file',
    description: 'Replaces a piece of a text file by another.',
    command: 'edit',
    effect: 'act',
    targets: ['path'],
    untrusted: false,
    parameters: editSchema,
    async execute({ path: given, old_text, new_text, all }, context) {
      const edit = async () => {
        const { path, text, stats } = await readWhole(tools, given, context);
        const pieces = text.split(old_text);
        const occurrences = pieces.length - 1;
        const found = { occurrences, path: given };
        if (occurrences === 0) throw failure('text_not_found', found);
        if (occurrences > 1 && !all) throw failure('text_not_unique', found);
        const content = pieces.join(new_text);
        assertFits(content, maxBytes);
        await replace(tools, { path, content, ...(stats && { before: stats }) }, context);
        showEdit(context, { path, before: text, after: content });
        return { path: roots.show(path), replaced: occurrences };
      };
      const path = await roots.locate(given);
      return await turns
        .take(path, edit)
        .catch((error: unknown) => Promise.reject(fileFailure(error, given)));
    },
  });
}

/** Whether the file is new. */
async function replace(
  { roots, editor }: FsTools,
  file: Parameters<typeof replaceFile>[1],
  context: ToolContext,
): Promise<boolean> {
  if (!editor?.writeFile) return await replaceFile(roots, file);
  assertNotGit(roots.show(file.path));
  const isThere = await lstat(file.path).catch(() => undefined);
  await editor.writeFile(file.path, file.content, context);
  return isThere === undefined;
}

/** For the difference alone: what cannot be read as text has none. */
async function textBefore(
  tools: FsTools,
  path: string,
  context: ToolContext,
): Promise<string | null> {
  const { editor, roots, maxBytes } = tools;
  const read = editor?.readFile?.(path, context) ?? readText(roots, path, maxBytes);
  return await Promise.resolve(read).then(
    (found) => (typeof found === 'string' ? found : found.text),
    () => null,
  );
}

function showEdit(
  context: ToolContext,
  edit: { readonly path: string; readonly before: string | null; readonly after: string },
): void {
  const { [CALL]: inner } = context as Partial<CoreContext>;
  inner?.emit('EXEC:EDITED', { call: inner.request.call.id, ...edit });
}
