import { resolve } from 'node:path';
import { definePlugin, defineTool, type ITool } from '@starloom/sdk';
import { childEnvironment, type Environment } from '@starloom/wire';
import { isInside } from '@starloom/wire/files';
import { z } from 'zod';
import type { EditorAccess, EditorHost } from '../../core/seams.ts';
import { type ProgramOutput, runProgram } from '../run-program.ts';

const shellConfigSchema = z.strictObject({
  folder: z.string().min(1).default('.').describe('Where commands run'),
  approval: z.boolean().default(true).describe('Ask a person before every command'),
  timeout_ms: z.int().positive().max(3_600_000).default(60_000),
  max_bytes: z.int().positive().default(65_536).describe('Of output; a command is ended there'),
  env: z.array(z.string().min(1)).default([]).describe('Variables it may see beside the usual'),
});

/** Any command, with the rights of the agent's own user. Only there where `agent.json` names it. */
export default definePlugin({
  name: 'shell',
  config: shellConfigSchema,
  setup(config, host: EditorHost) {
    const env = childEnvironment({ allow: config.env, from: host.env });
    const folder = resolve(host.folder, config.folder);
    const { workspace = folder, editor } = host;
    const cwd = isInside(folder, workspace) ? workspace : folder;
    return { tools: [runTool(config, cwd, env, editor?.run ?? runProgram)] };
  },
});

function runTool(
  { timeout_ms, max_bytes, approval }: z.infer<typeof shellConfigSchema>,
  cwd: string,
  env: Environment,
  run: NonNullable<EditorAccess['run']>,
): ITool {
  return defineTool({
    name: 'shell:run',
    description: 'Runs a command with /bin/sh and shows what it printed.',
    command: 'run',
    effect: 'act',
    targets: ['command'],
    approval,
    timeoutMs: timeout_ms + 10_000,
    parameters: z.strictObject({
      command: z.string().min(1).max(65_536),
      timeout_ms: z.int().positive().max(timeout_ms).optional().describe('Ended after this time'),
    }),
    async execute(args, context) {
      const timeoutMs = args.timeout_ms ?? timeout_ms;
      const program = {
        command: '/bin/sh',
        args: ['-c', 'eval "$1" 2>&1', 'sh', args.command],
        cwd,
        env,
        timeoutMs,
        maxBytes: max_bytes,
        signal: context.signal,
      };
      const output = await run(program, context);
      return `${withLineEnd(output.stdout)}[${endOf(output, timeoutMs, max_bytes)}]`;
    },
  });
}

function endOf({ exit, stopped }: ProgramOutput, timeoutMs: number, maxBytes: number): string {
  if (stopped === 'timeout') return `ended after ${timeoutMs} ms`;
  if (stopped === 'output') return `ended after ${maxBytes} bytes of output`;
  return exit.code === null ? `ended by ${exit.signal}` : `exit code ${exit.code}`;
}

function withLineEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}
