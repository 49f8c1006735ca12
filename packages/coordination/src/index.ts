export type { AgentRecord } from './agents/agent-record.ts';
export type {
  ContextWatcher,
  PrincipalContext,
  PrincipalContexts,
} from './context/principal-contexts.ts';
export { type Coordination, createCoordination } from './coordination.ts';
export type {
  AcquireResult,
  Commit,
  CommitResult,
  CoordinationStore,
  Entry,
  EventPage,
  Idempotency,
  Lease,
  LeaseMode,
  LeaseRequest,
  LockEvent,
  LockedCommitResult,
  ReleaseResult,
  Snapshot,
  StoredEvent,
  StoreWarning,
  Waiting,
  Write,
} from './coordination-store.ts';
export { REASONS, type Reason, type RpcError, toRpcError } from './errors.ts';
export type { MethodDescription } from './methods/define-method.ts';
export { PROTOCOL_VERSION, SERVICE_PATHS } from './methods/discovery.ts';
export { describeMethods, METHODS, type MethodName, OPEN_API_URL } from './methods.ts';
export { type CoordinationLimits, DEFAULT_LIMITS } from './quota/limits.ts';
export { openReopeningStore, type ReopeningStoreOptions } from './reopening-store.ts';
export type { ConnectedPrincipal, RpcConnection } from './rpc/connection.ts';
export type { RpcReply, RpcResponse } from './rpc/message.ts';
export type { RpcAnswer, RpcPeer } from './rpc.ts';
export type { CoordinationOptions, MayUse, Services } from './services.ts';
export { openStore, type StoreConfig, type StoreDependencies, toRealmStore } from './store.ts';
