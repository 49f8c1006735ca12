import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '@starloom/config';
import type { AlwaysRule } from '../core/seams.ts';
import { failure } from '../reasons.ts';
import { agentTomlSchema } from './agent-toml.ts';

/** Adds what a person allowed for good to `agent.toml`; the rest of the file, and its mode, stay as they are. */
export async function writeAlwaysRule(folder: string, rule: AlwaysRule): Promise<string> {
  const file = join(folder, 'agent.toml');
  const draft = join(folder, 'agent.new.toml');
  const section = toSection(rule);
  try {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    const { mode } = await stat(file).catch(() => ({ mode: 0o666 }));
    const gap = text === '' ? '' : text.endsWith('\n') ? '\n' : '\n\n';
    await writeFile(draft, `${text}${gap}${section}`, { mode });
    const { value } = await loadConfig({
      path: draft,
      schema: agentTomlSchema,
      env: {},
      resolveSecrets: false,
    });
    if (value.security.always.at(-1)?.tool !== rule.tool) throw new Error('it has no effect there');
    await rename(draft, file);
    return file;
  } catch (cause) {
    await rm(draft, { force: true });
    throw failure('rule_not_written', { tool: rule.tool, file, section }, { cause });
  }
}

function toSection({ tool, targets }: AlwaysRule): string {
  const pairs = Object.entries(targets).map(
    ([name, values]) => `${JSON.stringify(name)} = ${JSON.stringify(values)}`,
  );
  const lines = ['[[security.always]]', `tool = ${JSON.stringify(tool)}`];
  return [...lines, `targets = { ${pairs.join(', ')} }`, ''].join('\n');
}
