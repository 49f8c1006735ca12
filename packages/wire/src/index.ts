export {
  type AddressGuard,
  type AddressGuardOptions,
  createAddressGuard,
} from './address-guard.ts';
export { type BrowserGuard, createBrowserGuard } from './browser-guard.ts';
export {
  cleanText,
  createExcerpt,
  type Excerpt,
  hasHidden,
  withoutInvisible,
} from './clean-text.ts';
export {
  type DeadlineSignal,
  deadlineSignal,
  timerWheelOf,
  type WheelTimer,
} from './deadline.ts';
export { type DiskRoom, diskFull, diskRoom, logPages } from './disk-room.ts';
export {
  agentsAround,
  childEnvironment,
  type Environment,
  marksIn,
} from './environment.ts';
export {
  atTurnEnd,
  FairTurns,
  type FairTurnsOptions,
  resultTurns,
  streamTurns,
} from './fair-turns.ts';
export { withFileLock } from './file-lock.ts';
export type { FileService } from './file-thread.ts';
export { FileWatch, fingerprintOf } from './file-watch.ts';
export { findModule, findProgram } from './find-program.ts';
export { GroupBatches } from './group-batches.ts';
export {
  createGuardedFetch,
  type GuardedFetch,
  GuardedHttp,
} from './guarded-http.ts';
export { BoundedBody, HttpAnswer, type HttpHead } from './http-answer.ts';
export {
  type Refusal,
  type RefusalDialect,
  toLimitHeaders,
  toRefusal,
  toRefusalHeaders,
  writeRefusal,
} from './http-refusal.ts';
export { giveMemoryBackWhenIdle } from './idle-memory.ts';
export {
  assertJsonLimits,
  endOfString,
  JsonCount,
  type JsonExcess,
  type JsonLimits,
  jsonExcess,
  jsonFailure,
  membersIn,
  UPSTREAM_JSON_LIMITS,
} from './json-limits.ts';
export {
  type BadLine,
  LineSplitter,
  readLines,
} from './lines.ts';
export { parseUpstreamJson, readNdjson, writeNdjson } from './ndjson.ts';
export {
  closeToOthers,
  isDiskFull,
  keepReserve,
  makeOwnFolder,
  refillReserve,
  releaseReserve,
  writeOwnFile,
} from './own-file.ts';
export { agentAtOtherEnd, type Ends } from './peer-process.ts';
export {
  agentOfMarks,
  type ManagedProcess,
  type ProcessExit,
  type ProcessOptions,
  spawnProcess,
  toUpstream,
} from './process.ts';
export { deriveKey, Seal } from './seal.ts';
export { holdProcess, settlesWithin } from './settles-within.ts';
export { createPrivateFiles, type SqliteReason, sqliteReason } from './sqlite-file.ts';
export { readSse, type SseEvent, SseParser } from './sse.ts';
export {
  createSseWriter,
  SSE_HEADERS,
  type SseMessage,
  type SseWriter,
} from './sse-writer.ts';
export { StderrTail } from './stderr-tail.ts';
export { ATTRIBUTE, knownAttributes } from './telemetry/span-attributes.ts';
export {
  type Attributes,
  type EndedSpan,
  type HistogramData,
  type MetricFamilyData,
  openTelemetry,
  type Telemetry,
  type TelemetryTimes,
  teeLog,
} from './telemetry/telemetry.ts';
export { ThreadedFile } from './threaded-file.ts';
export { utf8Text } from './utf8-text.ts';
export { whenDrained } from './when-drained.ts';
