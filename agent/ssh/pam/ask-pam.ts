import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { OrderVariables } from "../program/session-order.ts";

export interface PamQuestion {
  /** Checks that the library can be used; checks whether the account may log in. */
  readonly ask: "check" | "account";
  /** Path of `session-start`. */
  readonly starter: string;
  readonly variables: OrderVariables;
  /** Default: 20 s, which is less than the limit of a handshake. */
  readonly limitMs?: number;
}

/** Longest answer that is kept. */
const maxAnswer = 2000;

/** Resolves when PAM says yes. Throws `denied` with its modules' message, `unavailable` when there is no answer. */
export function askPam({ ask, starter, variables, limitMs = 20_000 }: PamQuestion): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const noAnswer = (why: string, cause?: unknown): void =>
    reject(new PlatformError("unavailable", `could not ask PAM on this host: ${why}`, { cause }));
  const child = spawn(starter, [ask], {
    argv0: "platform",
    stdio: ["ignore", "ignore", "ignore", "pipe"],
    env: { ...variables },
    cwd: "/",
  });
  const timer = setTimeout(() => {
    noAnswer(`no answer within ${limitMs / 1000} s`);
    child.kill("SIGKILL");
  }, limitMs);
  let answer = "";
  (child.stdio[3] as Readable | null | undefined)?.on("data", (chunk: Buffer) => {
    answer = (answer + chunk.toString("utf8")).slice(0, maxAnswer);
  });
  child.once("error", (cause) => noAnswer("could not start its process", cause));
  child.once("close", (code, signal) => {
    clearTimeout(timer);
    if (code === 0) resolve();
    else if (answer !== "") reject(new PlatformError("denied", answer));
    else noAnswer(`ended by ${signal ?? `exit status ${code}`}`);
  });
  return promise;
}
