/** A think–act loop under test, with one model and one tool. */
export interface Loop extends AsyncDisposable {
  /** A new session; what it answers is checked, and a wrong answer is thrown. */
  open(): Conversation;
}

export interface Conversation {
  turn(): Promise<void>;
}

export function assertAnswer(text: string | undefined, expected: string): void {
  if (text !== expected) throw new Error(`a wrong answer: ${JSON.stringify(text)}`);
}
