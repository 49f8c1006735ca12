// The methods of the server as functions. Their types are written from the server's own table, so
// that nothing of the server is needed for them.

import type { Methods } from '../methods.d.ts';

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
