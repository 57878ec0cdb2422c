import type { AccessSource } from "../access/access-source.ts";
import { cutIfLocked } from "./cut-if-locked.ts";
import { endByRules, type RuledConnection } from "./end-by-rules.ts";

export interface HeldToRules extends RuledConnection {
  readonly access: Pick<AccessSource, "follow" | "fresh" | "ageMs">;
}

/** Holds a user's connection to the rules of its grant and to the locks. Returns the function that stops it, once the connection is closed. */
export function holdToRules(ruled: HeldToRules): () => void {
  const { grant, access, now, end: cut } = ruled;
  const over = new AbortController();
  const stopRules = endByRules(ruled);
  access.follow(({ locks }) => cutIfLocked({ grant, locks, now: now(), cut }), over.signal);
  return () => {
    stopRules();
    over.abort();
  };
}
