import { callerContext } from '../../upstream/prompt-text.ts';
import type { ProfileCall } from '../profile.ts';
import type { Sources } from './placeholders.ts';

/** What the places of a manifest may point to. */
export function toSources({ envelope, context }: ProfileCall): Sources {
  const { input, target, trace, response, session_id, idempotency_key } = envelope;
  return {
    task: input.task,
    arguments: input.arguments ?? {},
    context: callerContext(input.context),
    attachments: input.attachments,
    agent_id: target.agent_id,
    capability: target.capability,
    timeout_ms: target.timeout_ms,
    trace,
    stream: response.stream,
    format: response.format,
    session_id,
    idempotency_key,
    conversation: context.handle ?? {},
  };
}
