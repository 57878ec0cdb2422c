import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { controllers } from "./machine-folder.ts";
import { until } from "./until.ts";

export interface BootFacts {
  /** Of the machine and of its cgroup. */
  readonly name: string;
  readonly hostname: string;
  /** The machine's folder, with its disk mounted at `root`. */
  readonly dir: string;
  readonly netns: string;
  /** Folder or file here → where the machine has it, read-only. */
  readonly binds: Readonly<Record<string, string>>;
}

/** A booted container. */
export interface Boot {
  /** Its systemd, as process 1 sees it from outside. */
  readonly leader: number;
  readonly over: boolean;
  /** SIGKILL to all of it at once; resolves when nothing of it runs any more. */
  kill(): Promise<void>;
  /** As by its power button. */
  powerOff(): Promise<void>;
}

/** Starts systemd-nspawn; resolves when the machine's systemd takes commands. */
export async function boot({ name, hostname, dir, netns, binds }: BootFacts): Promise<Boot> {
  const groups = controllers().map((controller) => join(controller, name));
  for (const group of groups) await mkdir(group, { recursive: true });
  const bound = Object.entries(binds).map(([here, there]) => `--bind-ro=${here}:${there}`);
  const options = ["--quiet", "--boot", "--register=no", "--keep-unit", "--resolv-conf=off", "--timezone=off", "--link-journal=no"];
  const where = [`--directory=${join(dir, "root")}`, `--machine=${name}`, `--hostname=${hostname}`, `--network-namespace-path=/run/netns/${netns}`];
  // It dies with the test that started it, however that ends.
  const nspawn = ["setpriv", "--pdeathsig", "KILL", "systemd-nspawn", ...options, ...where, ...bound];
  const join1 = groups.map((group) => `echo $$ >${group}/cgroup.procs`).join("; ");
  const log = await open(join(dir, "console.log"), "a");
  const child = spawn("sh", ["-c", `${join1}; exec "$@"`, "sh", ...nspawn], { stdio: ["ignore", log.fd, log.fd], detached: true });
  const gone = once(child, "close");
  await log.close();
  const over = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const leader = await until(`machine ${name} boots`, async () => {
    if (over()) return -1;
    const [first] = (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, "utf8")).trim().split(" ");
    return first !== undefined && existsSync(`/proc/${first}/root/run/systemd/private`) && Number(first);
  });
  if (leader < 0) throw new Error(`machine ${name} did not boot:\n${await readFile(join(dir, "console.log"), "utf8")}`);
  await writeFile(join(dir, "leader"), String(leader));
  const end = async (signal: string | number): Promise<void> => {
    try {
      process.kill(leader, signal);
    } catch {
      // It was gone already.
    }
    await gone;
  };
  return {
    leader,
    get over() {
      return over();
    },
    kill: () => end("SIGKILL"),
    powerOff: () => end(powerOffSignal),
  };
}

/** SIGRTMIN+4. */
const powerOffSignal = 38;
