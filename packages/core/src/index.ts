export { type Artifact, ArtifactFold } from './artifact-fold.ts';
export {
  Backoff,
  type BackoffOptions,
  type BackoffRules,
  type BackoffStep,
  backoffMs,
} from './backoff.ts';
export { type CanonicalJsonOptions, canonicalJson, toWellFormed } from './canonical-json.ts';
export { type Clock, systemClock } from './clock.ts';
export { Closers } from './closers.ts';
export { closestWord, suggestionFor } from './closest-word.ts';
export {
  type ConnectionProgress,
  connectionFailure,
  isAway,
  socketErrorCode,
  unreachableReason,
} from './connection-failure.ts';
export { Deadline, defaultDeadlineMs } from './deadline.ts';
export {
  type AgentFilter,
  type AgentRecord,
  Directory,
  type DirectoryListener,
  type HeldCapability,
  HOLD_REASONS,
} from './directory.ts';
export { DirectoryReads } from './directory-reads.ts';
export {
  type Attachment,
  AUTH_MODES,
  type Auth,
  attachmentSchema,
  authSchema,
  DEFAULT_TIMEOUT_MS,
  type Envelope,
  type EnvelopeInput,
  envelopeSchema,
  PROFILE,
  parseEnvelope,
  RESPONSE_FORMATS,
} from './envelope.ts';
export {
  bounded,
  ERROR_META_KEY,
  fromErrorPayload,
  fromErrorText,
  parseErrorPayload,
} from './error-payload.ts';
export {
  CLAIM_LOST,
  ERRORS,
  type ErrorCode,
  type ErrorDetails,
  type ErrorPayload,
  type ErrorRow,
  errorPayloadSchema,
  FabricError,
  type FabricErrorOptions,
  isErrorCode,
  TOOL_ERROR,
} from './errors.ts';
export {
  type ArtifactData,
  CALL_STATES,
  type CallState,
  type Citation,
  type Counted,
  countedIn,
  type EventBody,
  EventStamper,
  type EventType,
  eventBodySchema,
  eventSchema,
  type FabricEvent,
  type FinalData,
} from './events.ts';
export { matchesGlob } from './glob.ts';
export {
  HEALTH_STATES,
  type Health,
  type HealthStatus,
  healthSchema,
  toHealthReason,
  UNKNOWN_HEALTH,
} from './health.ts';
export {
  assertDepth,
  extendChain,
  findCycle,
  formatChain,
  type Hop,
  hopSchema,
  MAX_DEPTH,
  nextHop,
  parseChain,
  parseDepth,
  ROOT_HOP,
  toLink,
} from './hop.ts';
export {
  parseRetryAfter,
  type StatusAnswer,
  type StatusMeaning,
  statusFailure,
  statusMeaning,
} from './http-status.ts';
export {
  type FinalJobState,
  isFinal,
  JOB_STATES,
  type Job,
  type JobAnswer,
  type JobCancellation,
  type JobError,
  type JobErrorEvent,
  type JobEvent,
  type JobInput,
  type JobOutcome,
  type JobQuota,
  type JobRetryPolicy,
  type JobState,
  type JobWebhook,
  type NewJob,
  openInputs,
  type StoredJob,
  type UpstreamHandle,
} from './job.ts';
export { type Fields, isObject, type Json, type JsonObject, toFields } from './json.ts';
export { type Log, type LogFields, silentLog } from './log.ts';
export { lookAlikes, looksLike, skeletonOf } from './look-alike.ts';
export { isLoopback } from './loopback.ts';
export {
  fromMandateCarriers,
  MANDATE,
  toMandateHeaders,
  toMandateLine,
  toMandateMeta,
} from './mandate-carrier.ts';
export {
  agentIdSchema,
  agentsFileSchema,
  type Capability,
  capabilityNameSchema,
  capabilitySchema,
  type Endpoint,
  endpointSchema,
  FALLBACK_MODES,
  type FallbackMode,
  findCapability,
  type Manifest,
  type ManifestInput,
  manifestSchema,
  protocolOf,
  RESERVED_AGENT_IDS,
  trustTierSchema,
  UNKNOWN_VERSION,
} from './manifest.ts';
export { MemoryRegistry } from './memory-registry.ts';
export { orAborted } from './or-aborted.ts';
export type {
  Adapter,
  AdapterFactory,
  AdapterOptions,
  AgentDescription,
  AgentHandle,
  AskOptions,
  CallContext,
  InboundWebhook,
  KeepOptions,
  ProtocolNotification,
} from './ports/adapter.ts';
export {
  type Asked,
  type Claim,
  type ClaimMode,
  type ClaimOptions,
  type JobCounts,
  type JobEngine,
  type JobEventPage,
  type JobFilter,
  type JobNote,
  type JobPage,
  type JobQueue,
  type JobRecords,
  type JobSchedule,
  QUEUE_PURPOSES,
  type QueuePurpose,
  type Renewal,
} from './ports/jobs.ts';
export type { Registry, RegistryStatus } from './ports/registry.ts';
export {
  assignedOrigin,
  fromHeaders,
  fromMeta,
  HEADER,
  META,
  mergeOrigins,
  type Origin,
  toAnswerTrace,
  toHeaders,
  toMeta,
} from './propagation.ts';
export {
  ANSWER_ACTIONS,
  type GivenInput,
  givenInputSchema,
  type InputRequest,
  type InputResponse,
  inputRequestSchema,
  inputResponseSchema,
  QUESTION_KINDS,
  QUESTION_MS,
  type QuestionKind,
} from './questions.ts';
export { RecentMap } from './recent-map.ts';
export {
  type AdmitOptions,
  type BlockReason,
  type GuardedCall,
  RecursionGuard,
  type RecursionGuardOptions,
} from './recursion-guard.ts';
export { type Attempt, type CallResult, ResultFold, type ToolCallRecord } from './result.ts';
export { Roster } from './roster.ts';
export { sha256Hex } from './sha256.ts';
export { argumentsFromTask } from './task-arguments.ts';
export {
  compareTiers,
  DEFAULT_TIER,
  isTrustedAs,
  lowerTier,
  TRUST_TIERS,
  type TrustTier,
} from './tiers.ts';
export { toCapabilityName } from './to-capability-name.ts';
export {
  findNamed,
  hashToolName,
  matchesName,
  normalName,
  styleToolName,
  TOOL_NAME_STYLES,
  type ToolNameStyle,
  toolNameSpellings,
  toToolName,
} from './tool-names.ts';
export {
  childTrace,
  createTrace,
  fromW3cSpanId,
  hexIdSchema,
  parseTraceId,
  parseTraceparent,
  type Trace,
  toTraceparent,
  toW3cSpanId,
  toW3cTraceId,
  traceSchema,
} from './trace.ts';
