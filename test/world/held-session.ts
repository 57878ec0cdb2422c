import { once } from "node:events";
import type { User } from "./cluster-user.ts";
import { start } from "./program.ts";
import { until } from "./until.ts";

/** A `tsh` that a test types into and reads. */
export interface HeldSession extends AsyncDisposable {
  /** Standard output so far. */
  shown(): string;
  /** Standard error so far. */
  told(): string;
  type(text: string): void;
  /** Waits until it has shown this; returns the output. */
  until(wanted: RegExp | string, limitMs?: number): Promise<string>;
  /** Its exit status, once it has ended. */
  readonly ended: Promise<number>;
}

/** Runs tsh with arguments such as `ssh -tt root@web-1`. */
export function holdSession(user: User, args: readonly string[], netns?: string): HeldSession {
  const child = start(user.executable, args, { env: { TSH_HOME: user.home }, netns });
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
    until: (wanted, limitMs) =>
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

/** A command on the host that prints "up" when it has begun. Throws with its output when it does not begin. */
export async function startSession(user: User, target: string, command: string, netns?: string): Promise<HeldSession> {
  const session = holdSession(user, ["ssh", target, command], netns);
  const early = session.ended.then((status): never => {
    const err = session.told();
    throw new Error(`it ended with ${status}: ${session.shown()}${err}`);
  });
  early.catch(() => {});
  try {
    await Promise.race([session.until("up"), early]);
  } catch (error) {
    await session[Symbol.asyncDispose]();
    throw error;
  }
  return session;
}
