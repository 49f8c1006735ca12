export interface HeartbeatOptions {
  /** Resolves when it was answered, or cannot be any more; does not reject. */
  readonly beat: () => Promise<void>;
  /** A heartbeat got no answer, nor did anything else come: the server is out of reach. */
  readonly onSilence: () => void;
  readonly requestMs: number;
}

/** Heartbeats come earlier than asked for, so that a slow one is not too late. */
const BEAT_SHARE = 0.7;
/** After a heartbeat something comes within an interval, or within these. */
const ANSWER_MS = { least: 1_000, most: 10_000 };

/** Sends one heartbeat at a time, until it is stopped. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #silence: NodeJS.Timeout | undefined;
  /** The longest time that a reachable server stays silent when asked. */
  answerMs: number;
  #isBeating = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.answerMs = options.requestMs;
  }

  every(intervalMs: number): void {
    this.stop();
    const answerMs = Math.max(ANSWER_MS.least, Math.min(ANSWER_MS.most, intervalMs));
    this.answerMs = Math.min(answerMs, this.#options.requestMs);
    this.#timer = setInterval(() => void this.#beat(), intervalMs * BEAT_SHARE).unref();
  }

  /** Something came: a busy connection may answer late, but it is there. */
  onHeard(): void {
    this.#silence?.refresh();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #beat(): Promise<void> {
    if (this.#isBeating) return;
    this.#isBeating = true;
    this.#silence = setTimeout(() => this.#isSilent(), this.answerMs).unref();
    await this.#options.beat();
    this.#endSilence();
    this.#isBeating = false;
  }

  #isSilent(): void {
    this.#endSilence();
    this.#options.onSilence();
  }

  /** A timer that is over would begin again when it is refreshed. */
  #endSilence(): void {
    clearTimeout(this.#silence);
    this.#silence = undefined;
  }
}
