export {
  assertVersion,
  BEARER_SECURITY,
  CardServer,
  type CardSigner,
  createCardSigner,
  requestedVersion,
} from './cards.ts';
export { A2aFace, type FaceRequest } from './face.ts';
export { type RpcChecks, serveJsonRpc } from './json-rpc.ts';
export { PushNotifications } from './push.ts';
export { assertModes, attachmentsOf, dataOf, modesOf, textOf } from './read-message.ts';
export { type A2aExchange, describeFailure } from './respond.ts';
export { ROUTES as REST_ROUTES, serveRest } from './rest.ts';
export type { NewTask, TaskJobs, TaskOwner } from './task-jobs.ts';
export { resultOf } from './to-status.ts';
