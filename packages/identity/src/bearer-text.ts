/** Keys are short; access tokens of some providers are not. */
const MAX_LENGTH = 8192;
/** Visible ASCII; no comma, since HTTP joins repeated headers with it. */
const BEARER_TEXT = /^[\x21-\x2b\x2d-\x7e]+$/;

/** Can this text be sent as a bearer credential? */
export function isBearerText(text: string): boolean {
  return text.length <= MAX_LENGTH && BEARER_TEXT.test(text);
}
