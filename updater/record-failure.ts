import { version } from "../core/versions/version.ts";
import { readState, writeState } from "./state.ts";
import type { Ending } from "./tick.ts";

/** Stores the result of a run that could not begin; an upgrade in progress stays unchanged. Best effort. */
export async function recordFailure(folder: string, { reason, detail }: Ending, now = new Date()): Promise<Ending> {
  try {
    const { state, damaged } = await readState(folder);
    // A damaged file must not be replaced by a state without an upgrade in progress.
    if (!damaged) await writeState(folder, { ...state, updater_version: version, reason, detail: detail.slice(0, 500), at: now.toISOString() });
    return { reason, detail };
  } catch {
    return { reason, detail };
  }
}
