export { applyUpdate, type ContextChange } from './apply-update.ts';
export type { CachedCall } from './cached.ts';
export {
  CoordinationClient,
  type CoordinationClientOptions,
  openCoordinationClient,
} from './client.ts';
export type { HeldLock } from './held-locks.ts';
export type { LostLock } from './known-locks.ts';
export type { GrantedTicket } from './leases.ts';
export type { ClientEvents } from './push-events.ts';
export { rpcCodeOf } from './rpc-error.ts';
export type {
  GrantedLock,
  LockService,
  MethodName,
  MethodParams,
  MethodResult,
  Service,
} from './services.ts';
export type {
  ClientSubscription,
  ContextSnapshot,
  SubscribeParams,
  SubscriptionHandlers,
} from './subscription.ts';
export type { Ticket } from './tickets.ts';
export type { Connect, Transport } from './transport.ts';
export { type WebSocketOptions, webSocketConnect } from './web-socket.ts';
export type { Lock, LockedWork, LockParams } from './with-lock.ts';
