import { defineTool, type ITool } from '@starloom/sdk';
import { z } from 'zod';
import { type Git, operands, pathsSchema, revisionSchema } from './git.ts';

const DIFF = ['--no-color', '--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty'];
const PLAIN_LOG = ['--no-color', '--no-show-signature', '--no-notes', '--date=iso-strict'];
const paths = pathsSchema.optional().describe('Only these files or folders');

export function readingTools(git: Git): ITool[] {
  const status = defineTool({
    name: 'git:status',
    description: 'Shows the branch and what has changed since the last commit.',
    command: 'status',
    effect: 'read',
    parameters: z.strictObject({ paths }),
    async execute(args, { signal }) {
      const options = ['--short', '--branch', '--ignore-submodules=dirty'];
      return git.run(['status', ...options, ...operands(undefined, args.paths)], { signal });
    },
  });
  const diff = defineTool({
    name: 'git:diff',
    description: 'Shows changes: of the working tree, of what is staged, or between revisions.',
    command: 'diff',
    effect: 'read',
    parameters: z.strictObject({
      revision: revisionSchema.optional().describe('Against this one, or a range a..b'),
      staged: z.boolean().default(false).describe('What the next commit would hold'),
      summary: z.boolean().default(false).describe('Only which files, and how much'),
      paths,
    }),
    async execute({ revision, staged, summary, paths: only }, { signal }) {
      const options = [...DIFF, ...(staged ? ['--cached'] : []), ...(summary ? ['--stat'] : [])];
      const shown = await git.run(['diff', ...options, ...operands(revision, only)], { signal });
      return shown === '' ? '(no changes)' : shown;
    },
  });
  const log = defineTool({
    name: 'git:log',
    description: 'Lists commits, the newest first: id, date, author, subject.',
    command: 'log',
    effect: 'read',
    parameters: z.strictObject({
      count: z.int().min(1).max(200).default(20),
      revision: revisionSchema.optional().describe('Where to begin, or a range a..b'),
      paths,
    }),
    async execute({ count, revision, paths: only }, { signal }) {
      const options = [...PLAIN_LOG, `--max-count=${count}`, '--format=%h %ad %an: %s'];
      return git.run(['log', ...options, ...operands(revision, only)], { signal });
    },
  });
  const show = defineTool({
    name: 'git:show',
    description: 'Shows a commit with its changes, or a file as it was (HEAD~1:path).',
    command: 'show',
    effect: 'read',
    parameters: z.strictObject({ revision: revisionSchema.default('HEAD'), paths }),
    async execute({ revision, paths: only }, { signal }) {
      const options = [...DIFF, ...PLAIN_LOG, '--format=commit %H%n%an <%ae>%n%ad%n%n%B'];
      return git.run(['show', ...options, ...operands(revision, only)], { signal });
    },
  });
  const branches = defineTool({
    name: 'git:branches',
    description: 'Lists the branches; the current one is marked with a star.',
    command: 'branches',
    effect: 'read',
    parameters: z.strictObject({}),
    async execute(_, { signal }) {
      const format = '--format=%(HEAD) %(refname:short) %(objectname:short) %(subject)';
      return git.run(['for-each-ref', '--sort=-committerdate', format, 'refs/heads'], { signal });
    },
  });
  return [status, diff, log, show, branches];
}
