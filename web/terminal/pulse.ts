/** What a pulse needs of the connection whose life it follows. */
export interface PulseFacts {
  /** Asks the other end for an answer. */
  readonly ask: () => void;
  /** The other end is silent. Called once. */
  readonly lost: () => void;
}

/** Silence after which the other end is asked, and the time between two questions, ms. */
const [quietMs, againMs] = [20_000, 8_000] as const;
/** Questions without an answer: more than one, since after a sleep a timer fires before the answers that wait in the network are read. */
const mostAsked = 3;

/**
 * The life of a connection, as this page sees it. A network that drops packets silently closes nothing: after a sleep, behind a NAT that has forgotten the
 * connection, the browser would wait for minutes. Ends nothing before the first answer: a proxy of an earlier version gives none.
 */
export class Pulse {
  readonly #facts: PulseFacts;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = 0;
  #isAnswered = false;

  constructor(facts: PulseFacts) {
    this.#facts = facts;
  }

  /** The connection is open: the other end is asked for the first time. */
  start(): void {
    this.#ask();
  }

  /** Something has come. `isAnswer`: to a question. */
  heard(isAnswer: boolean): void {
    if (isAnswer) this.#isAnswered = true;
    this.#asked = 0;
    this.#wait(quietMs);
  }

  /** Asks at once: the page is visible again, or the network is back. */
  check(): void {
    if (this.#timer !== undefined && this.#asked === 0) this.#ask();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #ask(): void {
    if (this.#asked === mostAsked) {
      this.stop();
      if (this.#isAnswered) this.#facts.lost();
      return;
    }
    this.#asked += 1;
    this.#facts.ask();
    this.#wait(againMs);
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), ms);
  }
}
