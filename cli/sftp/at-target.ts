import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { fileError } from "./file-queue.ts";

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
