import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { action, type GlobalOptions, withExamples } from '../command-line.ts';
import type { Terminal } from '../terminal.ts';
import { line } from '../terminal-text.ts';

const FILES = {
  'starloom.yaml': `# The gateway. Every key: starloom config schema, docs/configuration.md
listen:
  host: 127.0.0.1
  port: 7420
registry:
  kind: yaml
  path: ./agents.yaml
# What became of calls: starloom calls, trace, top, usage
journal:
  kind: sqlite
  calls: 50000
`,
  'agents.yaml': `# The agents behind the gateway. Add one: starloom agents add <name> -- <command>
# - agent_id: files
#   endpoint: { transport: stdio, command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", .] }
#   trust_tier: local
[]
`,
};

const NEXT = [
  'Try next',
  '  starloom agents add --help   put an agent behind the gateway',
  '  starloom up                  run the gateway',
  '  starloom connect --help      connect an MCP client',
].join('\n');

export function define(command: Command, terminal: Terminal): void {
  withExamples(command, [['starloom init', 'files to begin with, which are never replaced']])
    .argument('[folder]', 'where; here by default')
    .action(action(terminal, () => init));
}

async function init(terminal: Terminal, given: string | undefined, options: GlobalOptions) {
  const folder = resolve(terminal.cwd, given ?? '.');
  await mkdir(folder, { recursive: true });
  const written: string[] = [];
  const kept: string[] = [];
  for (const [name, text] of Object.entries(FILES)) {
    const path = join(folder, name);
    try {
      await writeFile(path, text, { flag: 'wx' });
      written.push(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      kept.push(path);
    }
  }
  if (options.json) return terminal.json({ written, kept });
  for (const path of written) terminal.print(line`wrote ${path}`);
  for (const path of kept) terminal.print(line`kept  ${path}`);
  terminal.tell(NEXT);
}
