import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { until } from "../test/world/until.ts";
import { type Command, runCommand } from "./run-command.ts";

const env = { PATH: "/usr/bin:/bin" };
const sh = (script: string, more: Partial<Command> = {}): Command => ({ file: "sh", args: ["-c", script], env, limitMs: 10_000, ...more });

/** Whether no process has this id, or only what is left of one that has ended. */
function gone(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

describe("a command", () => {
  test("returns its status, its output, and the tail of both streams", async () => {
    const done = await runCommand(sh("echo one; echo two >&2; exit 3"));
    expect(done).toMatchObject({ ended: "exit", status: 3, stdout: "one\n" });
    expect(done.tail.split("\n").sort()).toEqual(["", "one", "two"]);
  });

  test("sees the environment that it was given and no other, and no input", async () => {
    const done = await runCommand(sh("cat; env", { env: { ...env, A: "b" } }));
    const seen = done.stdout.trim().split("\n").sort();
    expect(seen.filter((line) => !/^(PWD|SHLVL|_|OLDPWD)=/.test(line))).toEqual(["A=b", `PATH=${env.PATH}`]);
  });

  test("that does not exist is distinguished", async () => {
    expect(await runCommand({ ...sh(""), file: "/nowhere/program" })).toMatchObject({ ended: "missing", status: -1 });
  });

  test("that was killed has the status of a shell", async () => {
    expect(await runCommand(sh("kill -KILL $$"))).toMatchObject({ ended: "exit", status: 137 });
  });

  test("is ended with its children at its time limit", async () => {
    const done = await runCommand(sh("sleep 60 & echo $!; wait", { limitMs: 200 }));
    expect(done).toMatchObject({ ended: "limit", status: -1 });
    await until("its child is gone", () => gone(Number(done.stdout)), 10_000);
  });

  test("is ended by the signal, whose reason is thrown", async () => {
    const life = new AbortController();
    const running = runCommand(sh("sleep 60", { signal: life.signal }));
    life.abort(new Error("enough"));
    await expect(running).rejects.toThrow("enough");
    await expect(runCommand(sh("true", { signal: life.signal }))).rejects.toThrow("enough");
  });

  test("does not wait for a daemon that keeps its output open", { timeout: 15_000 }, async () => {
    const done = await runCommand(sh("sleep 8 & echo $!", { limitMs: 60_000 }));
    expect(done).toMatchObject({ ended: "exit", status: 0 });
    process.kill(Number(done.stdout), "SIGKILL");
  });

  test("has a tail that is bounded, without the credentials of a proxy", async () => {
    const done = await runCommand(sh("head -c 100000 /dev/zero | tr '\\0' x; echo; echo 'no answer of http://agent:p%40ss@proxy:3128/'"));
    expect(done.tail.length).toBeLessThanOrEqual(8192);
    expect(done.tail).toContain("no answer of http://***@proxy:3128/");
  });
});
