export interface HeartbeatOptions {
  /** Resolves when it was answered, or cannot be any more; does not reject. */
  readonly beat: () => Promise<void>;
  /** A beat got no answer: whoever should give it is out of reach. */
  readonly onSilence: () => void;
  readonly requestMs: number;
}

/** Beats come earlier than asked for, so that a slow one is not too late. */
const BEAT_SHARE = 0.7;
/** A beat is answered within an interval, or within these. */
const ANSWER_MS = { least: 1_000, most: 10_000 };

/** Beats one at a time, until it is stopped. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #isBeating = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  every(intervalMs: number): void {
    this.stop();
    const answerMs = Math.max(ANSWER_MS.least, Math.min(ANSWER_MS.most, intervalMs));
    const withinMs = Math.min(answerMs, this.#options.requestMs);
    this.#timer = setInterval(() => void this.#beat(withinMs), intervalMs * BEAT_SHARE).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #beat(withinMs: number): Promise<void> {
    if (this.#isBeating) return;
    this.#isBeating = true;
    const silence = setTimeout(this.#options.onSilence, withinMs).unref();
    await this.#options.beat();
    clearTimeout(silence);
    this.#isBeating = false;
  }
}
