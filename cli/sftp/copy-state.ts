import type { SftpClient } from "../../core/sftp-client/sftp-client.ts";

/** State shared by all files of one copy. */
export interface CopyFacts {
  readonly client: SftpClient;
  /** Keep times and modes. */
  readonly preserve: boolean;
  readonly budget: ByteBudget;
  readonly progress: CopyProgress;
}

/** Called as bytes arrive; prints or does not. */
export interface CopyProgress {
  /** Called at the start of a file, with its name and its size as far as known. */
  begin(name: string, size: number): void;
  /** Bytes that have arrived or, with `isThere`, that were already there and need not be sent. */
  moved(count: number, isThere?: boolean): void;
  finish(): void;
}

/** Bytes in flight that all files of one copy share. A request beyond the budget waits, first come, first served. */
export class ByteBudget {
  #free: number;
  readonly #waiting: { readonly count: number; readonly go: () => void }[] = [];

  constructor(bytes: number) {
    this.#free = bytes;
  }

  /** Undefined: granted at once. A piece must not exceed the whole budget. */
  take(count: number): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#free >= count) {
      this.#free -= count;
      return undefined;
    }
    return new Promise((go) => this.#waiting.push({ count, go }));
  }

  give(count: number): void {
    this.#free += count;
    for (let first = this.#waiting[0]; first !== undefined && first.count <= this.#free; first = this.#waiting[0]) {
      this.#waiting.shift();
      this.#free -= first.count;
      first.go();
    }
  }
}

/** Unanswered requests of one file, and their first failure. */
export class UnderWay {
  #count = 0;
  #whenIdle: (() => void) | undefined;
  failure: Error | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(failure?: Error): void {
    this.#count -= 1;
    this.failure ??= failure;
    if (this.#count === 0) this.#whenIdle?.();
  }

  /** Waits for all answers. Throws the first failure. */
  async settle(): Promise<void> {
    if (this.#count > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    if (this.failure !== undefined) throw this.failure;
  }
}
