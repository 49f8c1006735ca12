export type { AgentRecord } from './agents/agent-record.ts';
export type { ContextWatcher, PrincipalContexts } from './context/principal-contexts.ts';
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
  LockedCommitResult,
  ReleaseResult,
  Snapshot,
  StoredEvent,
  StoreWarning,
  Waiting,
  Write,
} from './coordination-store.ts';
export type { MethodDescription } from './methods/define-method.ts';
export {
  describeMethods,
  METHODS,
  type MethodName,
  OPEN_API_URL,
  PROTOCOL_VERSION,
  SERVICE_PATHS,
} from './methods.ts';
export { type CoordinationLimits, DEFAULT_LIMITS } from './quota/limits.ts';
export { REASONS, type Reason } from './reasons.ts';
export { openReopeningStore, type ReopeningStoreOptions } from './reopening-store.ts';
export type { RpcError, RpcReply, RpcResponse } from './rpc/message.ts';
export type {
  CallableAgent,
  ConnectedPrincipal,
  GatewayDirectory,
  RpcConnection,
} from './rpc/peer.ts';
export type { RpcAnswer, RpcPeer } from './rpc.ts';
export type { CoordinationOptions, MayUse, Services } from './services.ts';
export type { SessionView, SessionViews } from './session/session-views.ts';
export { openStore, type StoreConfig, type StoreDependencies, toRealmStore } from './store.ts';
