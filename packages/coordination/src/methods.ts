// The table: every method there is. It validates requests and generates docs/coordination.md and
// openapi.json. There
// is no method by which one agent sends a message to another, on purpose: what agents have to tell
// each other stands in the context, where every member of the session sees it.

import { agentRegistryMethods } from './methods/agent-registry.ts';
import { checkpointMethods } from './methods/checkpoints.ts';
import { contextCoordinatorMethods } from './methods/context-coordinator.ts';
import { describeTable, type Method, type MethodDescription } from './methods/define-method.ts';
import { describeMethod, discoveryMethods } from './methods/discovery.ts';
import { memoryLockerMethods } from './methods/memory-locker.ts';
import { sessionManagerMethods } from './methods/session-manager.ts';
import { sharedBufferMethods } from './methods/shared-buffer.ts';
import { toolCacheMethods } from './methods/tool-cache.ts';

const SERVICE_METHODS = {
  ...agentRegistryMethods,
  ...sessionManagerMethods,
  ...checkpointMethods,
  ...contextCoordinatorMethods,
  ...memoryLockerMethods,
  ...toolCacheMethods,
  ...sharedBufferMethods,
} as const;

export const METHODS = {
  ...discoveryMethods,
  'mcp.describe': describeMethod(SERVICE_METHODS),
  ...SERVICE_METHODS,
} as const;

/** The file that describes them as OpenAPI; `npm run docs` writes it. */
export const OPEN_API_URL = new URL('../openapi.json', import.meta.url);

export type MethodName = keyof typeof METHODS;

const BY_NAME: ReadonlyMap<string, Method> = new Map(Object.entries(METHODS));

export function findMethod(name: string): Method | undefined {
  return BY_NAME.get(name);
}

/** Every method with parameters, result, errors and an example, for documentation and tools. */
export function describeMethods(): readonly MethodDescription[] {
  return describeTable(METHODS);
}
