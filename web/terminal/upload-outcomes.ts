import { countText } from "../text/size.ts";

/** How the upload of one file ended. */
export interface Outcome {
  readonly text: string;
  readonly is: "stored" | "kept" | "failed";
}

/** Most outcomes that are shown. */
const mostShown = 20;

/** The outcome for files that were not sent any more. Pure. */
export function unsent(count: number): Outcome {
  return { text: `${countText(count, "more file")} ${count === 1 ? "was" : "were"} not sent.`, is: "failed" };
}

/** What is shown of outcomes: those that failed, then the last ones, and a sum where some are left out. Pure. */
export function shownOutcomes(all: readonly Outcome[]): readonly Outcome[] {
  if (all.length <= mostShown) return all;
  const [failed, fine] = [all.filter(({ is }) => is === "failed"), all.filter(({ is }) => is !== "failed")];
  const stored = all.filter(({ is }) => is === "stored").length;
  const sum: Outcome = { text: `${countText(stored, "file")} ${stored === 1 ? "is" : "are"} stored.`, is: failed.length > 0 ? "failed" : "stored" };
  const shown = failed.slice(0, mostShown);
  return [sum, ...shown, ...fine.slice(shown.length - mostShown, shown.length < mostShown ? undefined : 0)];
}
