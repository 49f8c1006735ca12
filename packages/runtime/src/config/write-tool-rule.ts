import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '@starloom/config';
import { FabricError } from '@starloom/core';
import { agentTomlSchema } from './agent-toml.ts';

const HEADER = /^[ \t]*\[security\.tools\][ \t]*(?:#.*)?$/m;

/** Writes `"<tool>" = "allow"` to `agent.toml`; the rest of the file, and its mode, stay as they are. */
export async function writeToolRule(folder: string, tool: string): Promise<string> {
  const file = join(folder, 'agent.toml');
  const draft = join(folder, 'agent.new.toml');
  const line = `${JSON.stringify(tool)} = "allow"`;
  try {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    const { mode } = await stat(file).catch(() => ({ mode: 0o666 }));
    await writeFile(draft, withRule(text, tool, line), { mode });
    const { value } = await loadConfig({
      path: draft,
      schema: agentTomlSchema,
      env: {},
      resolveSecrets: false,
    });
    if (value.security.tools[tool] !== 'allow') throw new Error('the rule has no effect there');
    await rename(draft, file);
    return file;
  } catch (cause) {
    await rm(draft, { force: true });
    throw new FabricError('BAD_INPUT', `The rule for ${tool} could not be written to ${file}`, {
      cause,
      details: { reason: 'rule_not_written', file, fix: `add ${line} under [security.tools]` },
    });
  }
}

/** A rule for the same tool is replaced; the section is added at the end if there is none. */
function withRule(text: string, tool: string, line: string): string {
  const header = HEADER.exec(text);
  if (!header) {
    const gap = text === '' || text.endsWith('\n') ? '' : '\n';
    return `${text}${gap}${text === '' ? '' : '\n'}[security.tools]\n${line}\n`;
  }
  const start = header.index + header[0].length;
  const length = text.slice(start).search(/\n[ \t]*\[/);
  const end = length === -1 ? text.length : start + length;
  const others = text
    .slice(start, end)
    .split('\n')
    .filter((one) => !isRuleFor(one, tool));
  return `${text.slice(0, start)}\n${line}${others.join('\n')}${text.slice(end)}`;
}

function isRuleFor(line: string, tool: string): boolean {
  const key = line.slice(0, line.indexOf('=')).trim();
  return key === JSON.stringify(tool) || key === `'${tool}'` || key === tool;
}
