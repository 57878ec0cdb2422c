import { mkdir, readdir, readFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { until } from "./until.ts";

/** Status of a process from its status socket. */
export interface Status {
  readonly pid: number;
  readonly version: string;
  readonly ready: boolean;
  readonly services: readonly string[];
  readonly tunnels: number;
  readonly sessions: number;
  readonly role: "standby" | "main" | "draining";
  readonly draining: readonly { readonly pid: number; readonly sessions: number }[];
  readonly reload: {
    readonly state: "none" | "starting" | "failed" | "done";
    readonly pid?: number;
    readonly error?: string;
    readonly code?: string;
    readonly version?: string;
  };
}

/** A service as the service manager sees it: its pid file, and its runtime directory with the status sockets. */
export interface Processes extends AsyncDisposable {
  readonly runtime: string;
  readonly env: Readonly<Record<string, string>>;
  /** By the pid file. */
  main(): Promise<number>;
  status(pid: number): Promise<Status>;
  /** All that answer, the oldest first. */
  all(): Promise<readonly Status[]>;
  /** SIGHUP to the main process. */
  hangUp(): Promise<number>;
  /** SIGHUP, and waits until another process is the main one; its status. */
  reload(): Promise<Status>;
}

/** Disposing kills every process of the service. */
export async function processes(pidFile: string, runtime: string): Promise<Processes> {
  await mkdir(runtime, { recursive: true });
  const main = async (): Promise<number> => Number(await readFile(pidFile, "utf8"));
  const pids = async (): Promise<number[]> =>
    // Never 0, which would be the process group of the tests.
    (await readdir(runtime).catch(() => [])).flatMap((name) => /^status-(\d+)\.sock$/.exec(name)?.slice(1).map(Number) ?? []);
  const status = (pid: number): Promise<Status> => ask(join(runtime, `status-${pid}.sock`));
  const service: Processes = {
    runtime,
    env: { RUNTIME_DIRECTORY: runtime },
    main,
    status,
    all: async () => {
      const answers = await Promise.all((await pids()).map((pid) => status(pid).catch(() => undefined)));
      return answers.filter((answer) => answer !== undefined).sort((a, b) => a.pid - b.pid);
    },
    hangUp: async () => {
      const before = await main();
      process.kill(before, "SIGHUP");
      return before;
    },
    reload: async () => {
      const before = await service.hangUp();
      return await until("another process has taken over", async () => {
        const old = await status(before).catch(() => undefined);
        if (old?.reload.state === "failed") throw new Error(`reload failed: ${old.reload.error}`);
        const next = await main();
        return next !== before && (await status(next).then((it) => it.role === "main" && it));
      });
    },
    [Symbol.asyncDispose]: async () => {
      for (const pid of await pids()) kill(pid);
    },
  };
  return service;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}

function ask(socketPath: string): Promise<Status> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path: "/status", agent: false, timeout: 3_000 }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("end", () => {
        try {
          resolve(JSON.parse(text) as Status);
        } catch (thrown) {
          reject(thrown);
        }
      });
    });
    asked.once("error", reject);
    asked.end();
  });
}
