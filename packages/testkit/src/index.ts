export {
  createTestCa,
  type IssuedCertificate,
  type LeafOptions,
  type TestCa,
} from './certificates.ts';
export {
  Collector,
  KIND,
  type ReceivedSpan,
} from './collector.ts';
export {
  describeWithEngine,
  describeWithPeer,
} from './describe-with-engine.ts';
export { emptyDatabase, openDatabase } from './empty-database.ts';
export {
  type Engine,
  type EngineName,
  engines,
  openEngine,
  openProgram,
  type Program,
} from './engine.ts';
export { chromiumArguments } from './engines.ts';
export { freePort } from './free-port.ts';
export { prepareGo, prepareNpm, preparePython } from './peer.ts';
export {
  findProgram,
  type ProgramResult,
  requireProgram,
} from './program.ts';
export { NETWORK_VARIABLES, type ProgramRun, runProgram } from './run-program.ts';
export { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';
