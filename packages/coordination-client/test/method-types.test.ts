import type { METHODS, MethodName as ServedName } from '@starloom/coordination';
import type { Json, JsonObject } from '@starloom/core';
import { expectTypeOf, it } from 'vitest';
import type { z } from 'zod';
import type { MethodName, MethodParams, MethodResult } from '../src/index.ts';

type ServedParams<Name extends ServedName> = z.input<(typeof METHODS)[Name]['params']>;
type ServedResult<Name extends ServedName> = z.output<(typeof METHODS)[Name]['result']>;

/** With its fields in one place, however it was put together; any JSON stays what it is. */
type Plain<T> = [JsonObject, T] extends [T, Json]
  ? T
  : T extends object
    ? { [Key in keyof T]: Plain<T[Key]> }
    : T;

type IsSame<A, B> =
  (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false;

/** Names of methods whose types differ; the compiler names them when there is one. */
type Different = {
  [Name in MethodName]: IsSame<MethodParams<Name>, ServedParams<Name>> extends true
    ? IsSame<MethodResult<Name>, ServedResult<Name>> extends true
      ? never
      : `result of ${Name}`
    : `params of ${Name}`;
}[MethodName];

it('has the types of every method of the server', () => {
  expectTypeOf<MethodName>().toEqualTypeOf<ServedName>();
  expectTypeOf<Different>().toBeNever();
});
