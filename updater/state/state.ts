import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { errorText } from "../../core/errors/platform-error.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";
import { parseState, type UpdaterState } from "./parse-state.ts";

/** The state as found; `damaged`: there is a file, but its contents are lost. */
export interface FoundState {
  readonly state: UpdaterState;
  readonly damaged: boolean;
}

/** Maximum file that is read, bytes. */
const maxBytes = 65_536;

/** Reads `state` of the folder. A torn or foreign file counts as damaged, a missing one as empty; throws `internal` for an unreadable one. */
export async function readState(folder: string): Promise<FoundState> {
  let text: string;
  try {
    text = await readFile(join(folder, "state"), "utf8");
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return { state: { skip: [] }, damaged: false };
    throw new UpgradeError("internal", `could not read ${join(folder, "state")}: ${errorText(cause)}`, { cause });
  }
  const state = text.length > maxBytes ? undefined : parseState(text);
  return state === undefined ? { state: { skip: [] }, damaged: true } : { state, damaged: false };
}

/** Replaces the file in one step; when it returns, the state outlives a power cut. Throws `no_space`, `internal`. */
export async function writeState(folder: string, state: UpdaterState): Promise<void> {
  const path = join(folder, "state");
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const fresh = join(folder, ".state.new");
    {
      await using file = await open(fresh, "w", 0o644);
      await file.writeFile(`${JSON.stringify({ version: 1, ...state })}\n`);
      await file.sync();
    }
    await rename(fresh, path);
    await using directory = await open(folder, "r");
    await directory.sync();
  } catch (cause) {
    const full = cause instanceof Error && "code" in cause && (cause.code === "ENOSPC" || cause.code === "EDQUOT");
    throw new UpgradeError(full ? "no_space" : "internal", `could not write ${path}: ${errorText(cause)}`, { cause });
  }
}
