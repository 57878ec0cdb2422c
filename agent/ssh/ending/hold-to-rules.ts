import type { SshDeps } from "../deps.ts";
import { cutIfLocked } from "./cut-if-locked.ts";
import type { RuledConnection } from "./end-by-rules.ts";
import { endByRules } from "./end-by-rules.ts";

export interface HeldToRules extends RuledConnection {
  readonly access: SshDeps["access"];
  /** Ends it without a word when the agent stops. */
  readonly abort: AbortSignal;
  /** Called once, when it is closed. */
  readonly closed: () => void;
}

/** Holds a user's connection to the rules of its grant and to the locks, until it is closed. */
export function holdToRules({ abort, closed, ...ruled }: HeldToRules): void {
  const { connection, grant, access, now, end: cut } = ruled;
  const end = (): void => void connection.end();
  const over = new AbortController();
  const stopRules = endByRules(ruled);
  access.follow(({ locks }) => cutIfLocked({ grant, locks, now: now(), cut }), over.signal);
  abort.addEventListener("abort", end, { once: true });
  connection.once("close", () => {
    abort.removeEventListener("abort", end);
    stopRules();
    over.abort();
    closed();
  });
  if (abort.aborted) end();
}
