export {
  ERRORS,
  type ErrorCode,
  type ErrorDetails,
  type ErrorPayload,
  type ErrorRow,
  FabricError,
  isErrorCode,
} from './errors.ts';
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
