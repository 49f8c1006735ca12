export { LIST_KINDS, type ListKind, notifySubscribers, sendListChanged } from './lists.ts';
export { showsForms, toGivenInputs, toInputRequests, toInputRequired } from './questions.ts';
export {
  type EventPlace,
  META_CALL,
  type RisingProgress,
  toFailedResult,
  toProgress,
} from './results.ts';
