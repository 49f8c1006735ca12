import { defineTool, type ITool } from '@starloom/sdk';
import type { Environment } from '@starloom/wire';
import { z } from 'zod';
import { failure } from '../../reasons.ts';
import { type Git, type GitRun, operands, pathsSchema } from './git.ts';

export const authorSchema = z.strictObject({ name: z.string().min(1), email: z.string().min(1) });
type Author = z.infer<typeof authorSchema>;

/** Hooks do not run, and the commit is not signed. */
export function commitTool(git: Git, author: Author | undefined): ITool {
  return defineTool({
    name: 'git:commit',
    description: 'Commits changes, all of them or those of some files.',
    command: 'commit',
    effect: 'act',
    targets: ['paths'],
    untrusted: false,
    parameters: z.strictObject({
      message: z.string().min(1).max(20_000),
      paths: pathsSchema.min(1).optional().describe('Only these files or folders'),
    }),
    async execute({ message, paths }, { signal }) {
      assertNoFilters(await git.settingNames({ signal }));
      const env = identity(author ?? (await configuredAuthor(git, { signal })));
      await git.run(['add', '--all', ...operands(undefined, paths ?? ['.'])], { signal });
      const only = paths ? ['--only', ...operands(undefined, paths)] : [];
      const options = ['--quiet', '--no-verify', '--no-gpg-sign', `--message=${message}`];
      await git.run(['commit', ...options, ...only], { signal, env });
      const said = ['--no-patch', '--no-show-signature', '--format=%h %s', 'HEAD', '--'];
      return (await git.run(['show', ...said], { signal })).trim();
    },
  });
}

async function configuredAuthor(git: Git, run: GitRun): Promise<Author> {
  const [name, email] = await Promise.all([
    git.setting('user.name', run),
    git.setting('user.email', run),
  ]);
  if (name && email) return { name, email };
  throw failure('no_author');
}

function identity({ name, email }: Author): Environment {
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
}

/**
 * Filters that change what is committed: without them a commit would hold something else, and nothing of the
 * repository's is run.
 */
function assertNoFilters(names: readonly string[]): void {
  const filters = names.filter((name) => /^filter\..+\.(?:clean|process)$/is.test(name));
  if (filters.length > 0) throw failure('filters', { filters });
}
