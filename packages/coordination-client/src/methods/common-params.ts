// Written by "npm run docs" from the methods of @starloom/coordination; not to be edited.

/** What any request may carry. */
export type CommonParams = {
  agent_id?: string | undefined;
  epoch?: number | undefined;
  idempotency_key?: string | undefined;
  trace_id?: string | undefined;
};
