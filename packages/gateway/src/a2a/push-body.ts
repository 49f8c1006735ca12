import { A2A_CONTENT_TYPE, StreamResponse } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';

const legacy = new V03PushNotificationSerializer();

/** The update as the protocol has it in a webhook, in the version that asked for it. */
export function serializePush(update: StreamResponse, isLegacy: boolean) {
  if (isLegacy) return legacy.serialize(update);
  return { body: JSON.stringify(StreamResponse.toJSON(update)), contentType: A2A_CONTENT_TYPE };
}
