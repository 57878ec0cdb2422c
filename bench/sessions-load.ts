import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { cleanEnv } from "../test/world/program.ts";
import type { SessionsAsk, SessionsTold } from "./many-sessions-load.ts";
import { bareNode } from "./measure.ts";

/** many-sessions-load.ts in a process of its own. */
export interface SessionsLoad extends Disposable {
  readonly pid: number;
  ask(ask: SessionsAsk): Promise<SessionsTold>;
}

/** `args`: TSH_HOME, login and host. */
export function startSessionsLoad(args: readonly [string, string, string]): SessionsLoad {
  const path = resolve(import.meta.dirname, "many-sessions-load.ts");
  const child = spawn(bareNode, ["--disable-warning=ExperimentalWarning", path, ...args], {
    env: cleanEnv(),
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ready = once(child, "message");
  const gone = once(child, "exit").then(([code]) => Promise.reject(new Error(`the load ended with ${String(code)}`)));
  gone.catch(() => {});
  return {
    pid: child.pid ?? 0,
    ask: async (ask) => {
      await Promise.race([ready, gone]);
      child.send(ask);
      const [told] = (await Promise.race([once(child, "message"), gone])) as [SessionsTold];
      return told;
    },
    [Symbol.dispose]: () => void child.kill(),
  };
}
