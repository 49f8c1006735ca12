/**
 * One request after the other, but one that asks to wait for its turn holds nobody up; nor does a
 * batch with such a request.
 */
export function mayWait(message: unknown): boolean {
  return Array.isArray(message) ? message.some(asksToWait) : asksToWait(message);
}

function asksToWait(request: unknown): boolean {
  if (!isObject(request) || !('params' in request)) return false;
  return isObject(request.params) && 'wait_ms' in request.params;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
