import type { Absence } from "./presence-watch.ts";

const named = 5;

/** For `tctl status`: "3 agents are gone: a, b, c". Empty when none is. Pure. */
export function goneWarnings(absent: Iterable<Absence>): readonly string[] {
  const gone = [...absent].filter(({ kind }) => kind === "gone").sort((a, b) => b.since - a.since);
  if (gone.length === 0) return [];
  const names = gone.slice(0, named).map(({ hostname }) => hostname);
  const more = gone.length > named ? ` and ${gone.length - named} more` : "";
  const [verb, them] = gone.length === 1 ? ["agent is", "it"] : ["agents are", "them"];
  return [`${gone.length} ${verb} gone: ${names.join(", ")}${more}; see tctl nodes ls, and remove ${them} with tctl nodes rm when that is right`];
}
