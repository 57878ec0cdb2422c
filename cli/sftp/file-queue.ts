import { errorText, PlatformError } from "../../core/errors/platform-error.ts";

export interface FileFailure {
  readonly name: string;
  readonly error: PlatformError;
}

/** Copies several files at a time, so that small ones do not wait for each other's round trips, and collects failures. */
export class FileQueue {
  readonly #atOnce: number;
  readonly #onFailure: (failure: FileFailure) => void;
  readonly #running = new Set<Promise<void>>();
  #lost: PlatformError | undefined;
  #first: PlatformError | undefined;

  constructor(atOnce: number, onFailure: (failure: FileFailure) => void) {
    this.#atOnce = atOnce;
    this.#onFailure = onFailure;
  }

  /** The first of all failures. */
  get failure(): PlatformError | undefined {
    return this.#first;
  }

  /** Resolves when the work has begun. Throws once the connection is lost. */
  async add(name: string, work: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#atOnce) await Promise.race(this.#running);
    if (this.#lost !== undefined) throw this.#lost;
    const running = work()
      .catch((thrown: unknown) => {
        if (thrown instanceof PlatformError && thrown.code === "unavailable") this.#lost ??= thrown;
        else this.failed(name, thrown);
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  failed(name: string, thrown: unknown): void {
    const error = fileError(thrown);
    this.#first ??= error;
    this.#onFailure({ name, error });
  }

  /** Waits for all added work. */
  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.race(this.#running);
    if (this.#lost !== undefined) throw this.#lost;
  }
}

/** The system's errors of local files, in the words of the server's errors for remote ones. */
function fileError(thrown: unknown): PlatformError {
  if (thrown instanceof PlatformError) return thrown;
  const { code } = thrown as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : systemErrors[code];
  if (known !== undefined) return new PlatformError(known[0], known[1], { cause: thrown });
  return new PlatformError(code === undefined ? "internal" : "conflict", errorText(thrown), { cause: thrown });
}

const systemErrors: Readonly<Record<string, readonly [PlatformError["code"], string]>> = {
  ENOENT: ["not_found", "No such file or directory"],
  ENOTDIR: ["not_found", "Not a directory"],
  EACCES: ["denied", "Permission denied"],
  EPERM: ["denied", "Operation not permitted"],
  EROFS: ["denied", "Read-only file system"],
  EISDIR: ["conflict", "Is a directory"],
  ENOSPC: ["limit", "No space left on device"],
  EDQUOT: ["limit", "Disk quota exceeded"],
  EFBIG: ["limit", "File too large"],
  ELOOP: ["conflict", "Too many levels of symbolic links"],
};

/** Runs work on the target of a copy: its failure names the target, since a copy is named for its source. */
export async function atTarget<T>(target: Buffer, work: Promise<T> | (() => T)): Promise<T> {
  try {
    return await (typeof work === "function" ? work() : work);
  } catch (thrown) {
    const error = fileError(thrown);
    if (error.code === "unavailable") throw error;
    const hint = error.code === "not_found" ? "create its folder first" : error.hint;
    throw new PlatformError(error.code, `could not write ${target.toString()}: ${errorText(error)}`, { cause: thrown, hint });
  }
}
