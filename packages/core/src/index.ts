export {
  assertWanted,
  callerContext,
  callHeaders,
  exceedsDepth,
  fromMeaning,
  isLeftRunning,
  MAX_JSON_DEPTH,
  readTask,
  TASK_SCHEMA,
  withoutSent,
} from './agent-call.ts';
export { type AgentRecord, type HeldCapability, HOLD_REASONS } from './agent-lookup.ts';
export { type Artifact, ArtifactFold } from './artifacts.ts';
export { Backoff, backoffMs } from './backoff.ts';
export { canonicalJson, toWellFormed } from './canonical-json.ts';
export {
  type Clock,
  Deadline,
  defaultDeadlineMs,
  orAborted,
  systemClock,
  toIsoTime,
} from './clock.ts';
export { Closers } from './closers.ts';
export { RecentMap, Roster } from './collections.ts';
export { type AgentFilter, Directory, type DirectoryListener } from './directory.ts';
export {
  type Attachment,
  AUTH_MODES,
  type Auth,
  argumentsFromTask,
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
  CLAIM_LOST,
  ERROR_META_KEY,
  ERRORS,
  type ErrorCode,
  type ErrorDetails,
  type ErrorPayload,
  type ErrorRow,
  FabricError,
  fromErrorPayload,
  fromErrorText,
  isErrorCode,
  parseErrorPayload,
  TOOL_ERROR,
} from './errors.ts';
export {
  type ArtifactData,
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
export { HEALTH_STATES, type Health, healthSchema, toHealthReason } from './health.ts';
export {
  type Hop,
  hopSchema,
  MAX_DEPTH,
  nextHop,
  parseChain,
  parseDepth,
  ROOT_HOP,
} from './hop.ts';
export {
  type AgentInstance,
  definitionDigest,
  definitionOf,
  type InstanceEntry,
  type InstanceHold,
  type InstanceKey,
  type InstanceState,
  instanceKey,
  toInstance,
} from './instance.ts';
export {
  type FinalJobState,
  isFinal,
  JOB_STATES,
  type Job,
  type JobAnswer,
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
export {
  type Fields,
  isObject,
  type Json,
  type JsonObject,
  toFields,
  tryParseJson,
} from './json.ts';
export { type Log, type LogFields, silentLog } from './log.ts';
export { isLoopback } from './loopback.ts';
export {
  agentsFileSchema,
  type Capability,
  capabilitySchema,
  type Endpoint,
  endpointSchema,
  type FallbackMode,
  type Manifest,
  type ManifestInput,
  manifestSchema,
  UNKNOWN_VERSION,
} from './manifest.ts';
export { MemoryRegistrar, type MemoryRegistrarOptions } from './memory-registrar.ts';
export { DirectoryReads, LocalRegistry, MemoryRegistry } from './memory-registry.ts';
export {
  agentIdSchema,
  capabilityNameSchema,
  findCapability,
  findNamed,
  nodeIdSchema,
  normalName,
  protocolOf,
  RESERVED_AGENT_IDS,
} from './names.ts';
export { errorPayloadSchema, traceSchema } from './payload-schemas.ts';
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
export type {
  Asked,
  Claim,
  ClaimMode,
  ClaimOptions,
  JobCounts,
  JobEngine,
  JobEventPage,
  JobFilter,
  JobNote,
  JobPage,
  JobQueue,
  JobRecords,
  JobSchedule,
  QueuePurpose,
  Renewal,
} from './ports/jobs.ts';
export {
  type Journal,
  type JournalAttempt,
  type JournalCall,
  type JournalCandidate,
  type JournalCheck,
  type JournalFace,
  type JournalFilter,
  type JournalPage,
  type JournalPageOptions,
  type JournalRate,
  type JournalRates,
  type JournalStatus,
  MAX_JOURNAL_PAGE,
  USAGE_KEYS,
  type UsageKey,
  type UsageQuery,
  type UsageRow,
} from './ports/journal.ts';
export type {
  HealthEntry,
  InstanceEpoch,
  RegisterOptions,
  Registrant,
  Registrar,
  Registration,
  Registry,
  RegistryStatus,
} from './ports/registry.ts';
export {
  assignedOrigin,
  extendChain,
  findCycle,
  formatChain,
  fromHeaders,
  fromMandateCarriers,
  fromMeta,
  HEADER,
  MANDATE,
  META,
  mergeOrigins,
  type Origin,
  toAnswerTrace,
  toHeaders,
  toLink,
  toMandateHeaders,
  toMandateLine,
  toMandateMeta,
  toMeta,
} from './propagation.ts';
export {
  ANSWER_ACTIONS,
  type GivenInput,
  givenInputSchema,
  type InputRequest,
  type InputResponse,
  inputRequestSchema,
  QUESTION_MS,
} from './questions.ts';
export {
  type ReasonRow,
  type ReasonRows,
  type ReasonTable,
  reasonTable,
  rowsOf,
} from './reason-table.ts';
export { type BlockReason, type GuardedCall, RecursionGuard } from './recursion-guard.ts';
export {
  assertCurrent,
  assertMayRegister,
  DEFAULT_LEASE_MS,
  type KnownAgent,
  MAX_LEASE_MS,
  MIN_LEASE_MS,
  parseManifest,
  staleEpoch,
} from './registration.ts';
export { type Attempt, type CallResult, ResultFold, type ToolCallRecord } from './result.ts';
export { closestWord, lookAlikes, looksLike, skeletonOf, suggestionFor } from './similar-names.ts';
export {
  hashToolName,
  MAX_TOOL_NAME,
  matchesGlob,
  matchesName,
  sha256Hex,
  styleToolName,
  TOOL_NAME_STYLES,
  type ToolNameStyle,
  toCapabilityName,
  toolNameSpellings,
  toToolName,
  withNameHash,
} from './tool-names.ts';
export {
  childTrace,
  createTrace,
  fromW3cSpanId,
  parseTraceId,
  parseTraceparent,
  type Trace,
  toTraceparent,
  toW3cSpanId,
  toW3cTraceId,
} from './trace.ts';
export {
  compareTiers,
  DEFAULT_TIER,
  isTrustedAs,
  lowerTier,
  TRUST_TIERS,
  type TrustTier,
  trustTierSchema,
} from './trust-tier.ts';
export {
  connectionFailure,
  isAway,
  parseRetryAfter,
  rpcMeaning,
  type StatusMeaning,
  socketErrorCode,
  statusFailure,
  statusMeaning,
  unreachableReason,
} from './upstream-failure.ts';
