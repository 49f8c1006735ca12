export type { CachedCall } from './cached.ts';
export {
  CoordinationClient,
  type CoordinationClientOptions,
  openCoordinationClient,
} from './client.ts';
export type { HeldLock, LostLock, Ticket } from './known-locks.ts';
export type { GrantedTicket } from './leases.ts';
export type { Connect, Transport } from './link.ts';
export type { ClientEvents } from './push-events.ts';
export { rpcCodeOf } from './requests.ts';
export type {
  GrantedLock,
  LockService,
  MethodName,
  MethodParams,
  MethodResult,
  Service,
} from './services.ts';
export {
  applyUpdate,
  type ClientSubscription,
  type ContextChange,
  type ContextSnapshot,
  type SubscribeParams,
  type SubscriptionHandlers,
} from './subscription.ts';
export { type WebSocketOptions, webSocketConnect } from './web-socket.ts';
export type { Lock, LockedWork, LockParams } from './with-lock.ts';
