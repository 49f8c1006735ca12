export {
  type AddressGuard,
  type AddressGuardOptions,
  createAddressGuard,
  type GuardedAgentOptions,
} from './address-guard.ts';
export { type BrowserGuard, createBrowserGuard } from './browser-guard.ts';
export { cleanText, hasHidden, withoutInvisible } from './clean-text.ts';
export {
  type DeadlineSignal,
  type DeadlineSignalOptions,
  deadlineSignal,
} from './deadline-signal.ts';
export { type DiskRoom, diskFull, diskRoom, logPages } from './disk-room.ts';
export { type DrainedOptions, drained } from './drained.ts';
export {
  agentsAround,
  type ChildEnvironmentOptions,
  childEnvironment,
  type Environment,
  marksIn,
} from './environment.ts';
export { createExcerpt, type Excerpt, type GivenSecrets } from './excerpt.ts';
export { FairTurns, type FairTurnsOptions, streamTurns } from './fair-turns.ts';
export { withFileLock } from './file-lock.ts';
export type { FileService, ServedFile } from './file-thread.ts';
export { FileWatch, type FileWatchOptions, fingerprintOf } from './file-watch.ts';
export { findModule } from './find-module.ts';
export { findProgram, type ProgramPlace } from './find-program.ts';
export {
  createGuardedFetch,
  type GuardedFetch,
  GuardedHttp,
  type OutgoingRequest,
} from './guarded-http.ts';
export { holdProcess } from './hold-process.ts';
export { BoundedBody, HttpAnswer, type HttpHead } from './http-answer.ts';
export {
  type Refusal,
  type RefusalDialect,
  sendRefusal,
  toLimitHeaders,
  toRefusal,
  toRefusalHeaders,
  writeRefusal,
} from './http-refusal.ts';
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
export { type BadLine, LineSplitter, type LineSplitterOptions } from './line-splitter.ts';
export { type ReadLinesOptions, readLines } from './lines.ts';
export { readNdjson, type WriteNdjsonOptions, writeNdjson } from './ndjson.ts';
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
  type ProcessLimits,
  type ProcessOptions,
  spawnProcess,
} from './process.ts';
export { toUpstream } from './process-exit.ts';
export { settlesWithin } from './settles-within.ts';
export { type ReadSseOptions, readSse, type SseEvent, SseParser } from './sse.ts';
export {
  createSseWriter,
  SSE_HEADERS,
  type SseMessage,
  type SseWriter,
  type SseWriterOptions,
} from './sse-writer.ts';
export { StderrTail } from './stderr-tail.ts';
export { ThreadedFile, type ThreadedFileOptions } from './threaded-file.ts';
export { type MonotonicClock, TimerWheel, timerWheelOf, WheelTimer } from './timer-wheel.ts';
export { atTurnEnd } from './turn-end.ts';
