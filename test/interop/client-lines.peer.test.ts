// docs/connect-your-client.md: every line for a client that npm installs is run as it is written, by that
// client, in a home of its own. Then the client says that it is connected. No model is asked.

import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  describeWithPeer,
  type ProgramResult,
  prepareNpm,
  runProgram,
  temporaryFolder,
} from '@starloom/testkit';
import { childEnvironment, type ManagedProcess, spawnProcess } from '@starloom/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeBlocks } from '../support/code-blocks.ts';
import { writeInto } from './agent-home.ts';
import { COMMAND_LINES } from './command-lines.ts';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));
const STARLOOM = join(CHECKOUT, 'node_modules/.bin/starloom');
const PAGE = await readFile(join(CHECKOUT, 'docs/connect-your-client.md'), 'utf8');
const PLATFORM = `${process.platform}-${process.arch}`;
/** As each of them writes it. */
const CONNECTED = /^(?:\S )?starloom: .* - (?:\S )?Connected$/m;
/** A hang guard. Clients that start the gateway have a patience of their own: they are asked again. */
const PATIENCE_MS = 120_000;

interface NpmClient {
  readonly section: string;
  readonly command: string;
  /** Of the package, below `node_modules`. */
  readonly program: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What the client says of its servers. */
  readonly status: (place: Place) => Promise<string>;
}

const CLIENTS: readonly NpmClient[] = [
  {
    section: 'Claude Code',
    command: 'claude',
    program: `@anthropic-ai/claude-code-${PLATFORM}/claude`,
    status: ({ shell }) => shell('claude mcp list'),
  },
  {
    section: 'Codex',
    command: 'codex',
    program: '.bin/codex',
    // `codex mcp list` shows what is configured; its server for editors connects.
    status: async ({ shell, start }) => {
      expect(await shell('codex mcp list')).toMatch(/^starloom .*enabled/m);
      return statusOfCodex(await start('codex', ['app-server']));
    },
  },
  {
    section: 'Gemini CLI',
    command: 'gemini',
    program: '.bin/gemini',
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    status: ({ shell }) => shell('gemini mcp list'),
  },
];

interface Place {
  /** Runs lines of the page in the folder of a project, after those that set the variables. */
  readonly shell: (lines: string) => Promise<string>;
  readonly start: (command: string, args: readonly string[]) => Promise<ManagedProcess>;
  /** The text with the addresses and paths that are real here. */
  readonly here: (text: string) => string;
  readonly project: string;
  readonly key: string;
}

const stack = new AsyncDisposableStack();
let url: string;
let home: string;

beforeAll(async () => {
  home = stack.use(await temporaryFolder()).path;
  const gateway = stack.use(
    await spawnProcess({
      command: STARLOOM,
      args: ['up', '--json', '--port', '0'],
      cwd: home,
      env: environment({}),
    }),
  );
  for await (const line of gateway.lines()) {
    const said: { event?: string; url?: string } = JSON.parse(line);
    if (said.event !== 'ready') continue;
    url = said.url ?? '';
    break;
  }
});

afterAll(() => stack.disposeAsync());

describe.each(CLIENTS)('$section', (client) => {
  describeWithPeer(
    client.command,
    () => prepareOf(client.command),
    (modules) => {
      const blocks = blocksOf(client.section);
      const lines = blocks.filter(({ language }) => language === 'sh').map(({ code }) => code);

      it.each(lines)('is connected by: %s', async (line) => {
        await using place = await openPlace(client, modules);
        await place.shell(line);
        await expect.poll(() => client.status(place), { timeout: PATIENCE_MS }).toMatch(CONNECTED);
      });

      const files = blocks.filter(({ language }) => language === 'json' || language === 'toml');
      it.each(files)('is connected by its file: $code', async ({ language, code }) => {
        await using place = await openPlace(client, modules);
        if (language === 'json') {
          await writeInto(join(place.project, '.mcp.json'), place.here(code));
          // What a person says when Claude Code asks.
          const settings = JSON.stringify({ enableAllProjectMcpServers: true });
          await writeInto(join(place.home, '.claude/settings.json'), settings);
        } else await writeInto(join(place.home, '.codex/config.toml'), place.here(code));
        await expect.poll(() => client.status(place), { timeout: PATIENCE_MS }).toMatch(CONNECTED);
      });
    },
  );
});

describeWithPeer(
  'mcp-remote',
  () => prepareNpm(['mcp-remote@0.15.1']),
  (modules) => {
    it('passes stdio of Claude Desktop on to the gateway', async () => {
      await using place = await openPlace(undefined, modules);
      const remote = blocksOf('Claude Desktop').find(({ code }) => code.includes('mcp-remote'));
      const { args } = JSON.parse(place.here(remote?.code ?? '')).mcpServers.starloom;
      const authorization = `Bearer ${place.key}`;
      const client = new Client({ name: 'claude-ai', version: '1.0.0' });
      await client.connect(
        new StdioClientTransport({
          command: join(modules, '.bin/mcp-remote'),
          args: args.slice(args.indexOf('mcp-remote') + 1),
          env: environment({ HOME: place.home, AUTHORIZATION: authorization }),
          stderr: 'ignore',
        }),
      );
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain('percy_reason');
      await client.close();
    });
  },
);

/** A home with the gateway's key, a project with a configuration, and the client on the PATH. */
async function openPlace(client: NpmClient | undefined, modules: string) {
  await using scope = new AsyncDisposableStack();
  const own = scope.use(await temporaryFolder()).path;
  const project = join(own, 'project');
  const bin = join(own, 'bin');
  await mkdir(project);
  await mkdir(bin);
  const state = '.local/state/starloom/client.json';
  const text = await readFile(join(home, state), 'utf8');
  await writeInto(join(own, state), text);
  const config = join(project, 'starloom.yaml');
  await writeInto(config, 'registry: { kind: yaml, path: agents.yaml }\n');
  await writeInto(join(project, 'agents.yaml'), '[]\n');
  if (client) await symlink(join(modules, client.program), join(bin, client.command));

  const key: string = JSON.parse(text).key;
  const env = environment({
    ...client?.env,
    HOME: own,
    STARLOOM_KEY: key,
    PATH: `${bin}:${process.env.PATH}`,
  });
  const here = (given: string) =>
    given
      .replaceAll('http://127.0.0.1:7420', url)
      .replaceAll('/path/to/starloom.yaml', config)
      .replaceAll('/path/to/starloom/', CHECKOUT);
  const shell = async (lines: string) => {
    const script = `cd '${CHECKOUT}'\n${variables()}\ncd '${project}'\n${here(lines)}`;
    const run = await runProgram({ command: 'sh', args: ['-ec', script], env }, PATIENCE_MS);
    expect(run.code, run.stderr).toBe(0);
    // Some write their lists to stderr.
    return `${run.stdout}\n${run.stderr}`;
  };
  const owned = scope.move();
  return {
    shell,
    start: async (command: string, args: readonly string[]) =>
      owned.use(await spawnProcess({ command: join(bin, command), args, cwd: project, env })),
    here,
    project,
    key,
    home: own,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function prepareOf(command: string): Promise<ProgramResult> {
  const line = COMMAND_LINES.find(({ name }) => name === command);
  if (!line) throw new Error(`there is no command line ${command}`);
  return line.prepare();
}

/** The lines of the page that set `STARLOOM` and `STARLOOM_KEY`. */
function variables(): string {
  const exported = blocksOf('The command and the key').map(({ code }) => code);
  expect(exported).toHaveLength(2);
  return exported.join('\n');
}

function blocksOf(section: string) {
  return codeBlocks(PAGE.split(`\n## ${section}\n`)[1]?.split('\n## ')[0] ?? '');
}

function environment(extra: Readonly<Record<string, string>>) {
  return childEnvironment({ extra: { HOME: home, ...extra } });
}

/** By the protocol of its server for editors, in the words of the others. */
async function statusOfCodex(codex: ManagedProcess): Promise<string> {
  const clientInfo = { name: 'test', version: '1.0.0' };
  const messages = [
    { id: 1, method: 'initialize', params: { clientInfo } },
    { method: 'initialized' },
    { id: 2, method: 'mcpServerStatus/list', params: {} },
  ];
  for (const message of messages) codex.stdin.write(`${JSON.stringify(message)}\n`);
  for await (const line of codex.lines()) {
    const { id, result } = JSON.parse(line);
    if (id !== 2) continue;
    const [{ name, tools, serverInfo }] = result.data;
    return `${name}: ${serverInfo?.name} - ${'fabric_call' in tools ? 'Connected' : 'Failed'}`;
  }
  return codex.stderrTail();
}
