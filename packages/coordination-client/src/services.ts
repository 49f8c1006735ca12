// The methods of the server as functions. Their types are written from the server's own table, so
// that nothing of the server is needed for them.

import type { AgentRegistryMethods } from './methods/agent-registry.ts';
import type { ContextCoordinatorMethods } from './methods/context-coordinator.ts';
import type { McpMethods } from './methods/mcp.ts';
import type { MemoryLockerMethods } from './methods/memory-locker.ts';
import type { SessionManagerMethods } from './methods/session-manager.ts';
import type { SharedBufferMethods } from './methods/shared-buffer.ts';
import type { ToolCacheMethods } from './methods/tool-cache.ts';

interface Methods
  extends McpMethods,
    AgentRegistryMethods,
    SessionManagerMethods,
    ContextCoordinatorMethods,
    MemoryLockerMethods,
    ToolCacheMethods,
    SharedBufferMethods {}

export type MethodName = keyof Methods;
export type MethodParams<Name extends MethodName> = Methods[Name]['params'];
export type MethodResult<Name extends MethodName> = Methods[Name]['result'];

export type Call = <Name extends MethodName>(
  method: Name,
  params: MethodParams<Name>,
) => Promise<MethodResult<Name>>;

/** `Service<'memory_locker'>` has `acquire`, `release` and so on. */
export type Service<Name extends string> = {
  readonly [Method in MethodName as Method extends `${Name}.${infer Operation}`
    ? Operation
    : never]: (params: MethodParams<Method>) => Promise<MethodResult<Method>>;
};

type Acquire = MethodParams<'memory_locker.acquire'>;
type Acquired = MethodResult<'memory_locker.acquire'>;
export type GrantedLock = Extract<Acquired, { readonly lock_token: number }>;

/** Only with `async` there may be a ticket instead of the lock. */
export interface LockService extends Omit<Service<'memory_locker'>, 'acquire'> {
  acquire(params: Acquire & { readonly async?: false | undefined }): Promise<GrantedLock>;
  acquire(params: Acquire): Promise<Acquired>;
}

export function createService<Name extends string>(name: Name, call: Call): Service<Name> {
  const service = new Proxy(Object.freeze({}), {
    get: (_, operation) =>
      typeof operation === 'string' && operation !== 'then'
        ? (params: MethodParams<MethodName>) => call(`${name}.${operation}` as MethodName, params)
        : undefined,
  });
  return service as Service<Name>;
}
