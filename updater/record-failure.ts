import { version } from "../core/versions/version.ts";
import { readState, writeState } from "./state.ts";
import type { Ending } from "./tick.ts";

/** Remembers how a run ended that could not begin; an upgrade in progress stays what it is. Best effort. */
export async function recordFailure(folder: string, { reason, detail }: Ending, now = new Date()): Promise<Ending> {
  try {
    const { state, damaged } = await readState(folder);
    // What a damaged file may have said must not be taken for the word that nothing is in progress.
    if (!damaged) await writeState(folder, { ...state, updater_version: version, reason, detail: detail.slice(0, 500), at: now.toISOString() });
    return { reason, detail };
  } catch {
    return { reason, detail };
  }
}
