// An agent of the ring: its two files, and `starloom agent run` on them.

import { mkdir, writeFile } from 'node:fs/promises';
import { STARLOOM, startProgram } from '../start-program.ts';

export interface RingAgent {
  readonly name: string;
  readonly port: number;
  /** Where the next one is. */
  readonly next: string;
}

const agentJson = (name: string) => ({
  name,
  provider: { kind: 'plugin', name: 'parrot' },
  plugins: [{ name: `${import.meta.dirname}/parrot.ts`, config: { name } }],
  mcp: { expose_tools: ['ask'] },
});

const agentToml = (next: string) => `
[[mcp.servers]]
name = "next"
url = "${next}"
allowed_tools = ["ask"]

# No person is there to be asked for approval.
[security.tools]
"next:ask" = "allow"
`;

/** Resolves when it serves. */
export async function startRingAgent({ name, port, next }: RingAgent, folder: string) {
  await mkdir(`${folder}/${name}`);
  await writeFile(`${folder}/${name}/agent.json`, JSON.stringify(agentJson(name), null, 2));
  await writeFile(`${folder}/${name}/agent.toml`, agentToml(next));
  const face = ['--mcp', 'http', '--port', String(port), '--anonymous', '--json'];
  const agent = await startProgram<{ event: string }>({
    args: [STARLOOM, 'agent', 'run', name, ...face],
    cwd: folder,
    env: { STARLOOM_HOME: `${folder}/home` },
  });
  await agent.line(({ event }) => event === 'ready');
  return agent;
}
