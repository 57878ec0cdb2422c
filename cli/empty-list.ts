import type { Call } from "./command.ts";

/** A kind of resource that a user lists. */
export interface ListedKind {
  /** `database`. */
  readonly noun: string;
  /** The condition of roles for it: `db_labels`. */
  readonly labels: string;
  /** What else there has to be, after "and". */
  readonly needs?: string;
}

/** Options that leave out a part of a list. */
const filters = ["labels", "query", "search"] as const;

/** A note for people below a list that is empty: that nothing matches, or what access takes. */
export function emptyNotes(
  { args, options }: Pick<Call, "args" | "options">,
  all: readonly unknown[],
  { noun, labels, needs }: ListedKind,
): readonly string[] {
  if (all.length > 0 || (options.text("format") ?? "text") !== "text") return [];
  if (args.length > 0 || filters.some((name) => options.values(name).length > 0)) return [`No ${noun} that you have access to matches.`];
  return [
    `You do not have access to any ${noun} now: a role of yours has to allow its labels (${labels})${needs === undefined ? "" : `, and ${needs}`}.`,
  ];
}

/** What else a resource of an agent needs. */
export const offered = "a connected agent has to offer it";
