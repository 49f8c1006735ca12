import { encodeGrpcStatusDetails, GRPC_STATUS_DETAILS_BIN } from '@a2a-js/sdk/errors/grpc';
import { Metadata, status } from '@grpc/grpc-js';
import { createTrace, type Trace } from '@starloom/core';
import { describeFailure } from './failures.ts';

/** What went wrong as gRPC says it: its code, and `google.rpc.ErrorInfo` in the details. */
export function toGrpcStatus(thrown: unknown, trace: Trace = createTrace()) {
  const { error, status: name, reason } = describeFailure(thrown, trace);
  const code = status[name as keyof typeof status] ?? status.INTERNAL;
  const about = { code: error.code, trace_id: trace.trace_id };
  const metadata = new Metadata();
  const details = encodeGrpcStatusDetails(code, error.message, reason, about);
  metadata.set(GRPC_STATUS_DETAILS_BIN, details);
  return { code, details: error.message, metadata, name: 'A2aError', message: error.message };
}
