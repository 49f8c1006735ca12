// Agents of other projects that are Python programs: their packages, and a process on a free port.

import { fileURLToPath } from 'node:url';
import { freePort, type ProgramResult, preparePython } from '@starloom/testkit';
import { childEnvironment, spawnProcess } from '@starloom/wire';

/** An interpreter with acp-sdk and fasta2a. */
export function preparePythonAgents(): Promise<ProgramResult> {
  return preparePython(here('agents/requirements.txt'));
}

/** An interpreter with a LangGraph server and Pydantic AI. */
export function prepareHttpAgents(): Promise<ProgramResult> {
  return preparePython(here('agents/http-requirements.txt'));
}

/** Starts a script of `agents/`, and waits until `path` of it answers. */
export async function startPythonAgent(
  python: string,
  script: string,
  path: string,
  cwd?: string,
): Promise<AsyncDisposable & { readonly uri: string }> {
  const port = await freePort();
  const said: string[] = [];
  const child = await spawnProcess({
    command: python,
    args: [here(`agents/${script}`), String(port)],
    env: childEnvironment({ extra: { OTEL_SDK_DISABLED: 'true' } }),
    ...(cwd !== undefined && { cwd }),
    onStderrLine: (line) => said.push(line),
  });
  child.stdout.resume();
  const uri = `http://127.0.0.1:${port}`;
  while (!(await answers(uri + path))) {
    const exit = await Promise.race([child.exited, later()]);
    if (exit) throw new Error(`${script} ended: ${said.slice(-20).join('\n')}`);
  }
  return { uri, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}

function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}

function later(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, 50, undefined));
}

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
