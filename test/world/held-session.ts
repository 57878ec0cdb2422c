import { once } from "node:events";
import type { User } from "./cluster-user.ts";
import { program, start } from "./program.ts";
import { until } from "./until.ts";

/** A `tsh` at a terminal of its own on the host, which a test types into. */
export interface HeldSession extends AsyncDisposable {
  /** What has come so far on standard output. */
  shown(): string;
  /** What has come so far on standard error. */
  told(): string;
  type(text: string): void;
  /** Waits until it has shown this; what it has shown then. */
  until(wanted: RegExp | string, limitMs?: number): Promise<string>;
  /** Its exit status, once it has ended. */
  readonly ended: Promise<number>;
}

/** Runs tsh with arguments such as `ssh -tt root@web-1`. */
export function holdSession(user: User, args: readonly string[]): HeldSession {
  const child = start(program("tsh"), args, { env: { TSH_HOME: user.home } });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => err.push(chunk));
  child.stdin?.on("error", () => {});
  const ended = once(child, "close").then(([code]) => (code as number | null) ?? -1);
  const shown = (): string => Buffer.concat(out).toString();
  const told = (): string => Buffer.concat(err).toString();
  return {
    shown,
    told,
    type: (text) => void child.stdin?.write(text),
    until: (wanted, limitMs = 30_000) =>
      until(
        `the session shows ${String(wanted)}`,
        () => {
          const text = shown();
          return (typeof wanted === "string" ? text.includes(wanted) : wanted.test(text)) ? text : undefined;
        },
        limitMs,
      ),
    ended,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
