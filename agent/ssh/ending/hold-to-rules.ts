import type { SshDeps } from "../deps.ts";
import { cutIfLocked } from "./cut-if-locked.ts";
import { endByRules, type RuledConnection } from "./end-by-rules.ts";

export interface HeldToRules extends RuledConnection {
  readonly access: SshDeps["access"];
  /** Called once, when it is closed. */
  readonly closed: () => void;
}

/** Holds a user's connection to the rules of its grant and to the locks, until it is closed. */
export function holdToRules({ closed, ...ruled }: HeldToRules): void {
  const { connection, grant, access, now, end: cut } = ruled;
  const over = new AbortController();
  const stopRules = endByRules(ruled);
  access.follow(({ locks }) => cutIfLocked({ grant, locks, now: now(), cut }), over.signal);
  connection.once("close", () => {
    stopRules();
    over.abort();
    closed();
  });
}
