import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Below the folder of all state: what this one agent keeps. */
export function agentStateFolder(stateFolder: string, agentId: string): string {
  return join(stateFolder, 'agents', agentId);
}

/** For an agent that keeps nothing; created by the first write, for its owner alone. */
export function passingStateFolder(): string {
  return join(tmpdir(), `starloom-agent-${randomUUID()}`);
}
