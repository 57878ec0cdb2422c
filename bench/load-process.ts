import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { cleanEnv } from "../test/world/program.ts";
import { bareNode } from "./measure.ts";

/** A script of this folder in a process of its own, which answers each question over the channel of child_process. */
export interface LoadProcess<Ask, Answer> extends Disposable {
  readonly pid: number;
  /** One question at a time. Throws when the process ends. */
  ask(question: Ask): Promise<Answer>;
}

export function startLoadProcess<Ask extends object, Answer>(script: string, args: readonly string[] = []): LoadProcess<Ask, Answer> {
  const path = resolve(import.meta.dirname, script);
  const child = spawn(bareNode, ["--disable-warning=ExperimentalWarning", path, ...args], {
    env: cleanEnv(),
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const gone = once(child, "exit").then(([code]) => Promise.reject(new Error(`${script} ended with ${String(code)}`)));
  gone.catch(() => {});
  return {
    pid: child.pid ?? 0,
    ask: async (question) => {
      child.send(question);
      const [answer] = (await Promise.race([once(child, "message"), gone])) as [Answer];
      return answer;
    },
    [Symbol.dispose]: () => void child.kill(),
  };
}
