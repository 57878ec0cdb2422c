import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { holdLock } from "../hold-lock.ts";
import { output, run } from "../program.ts";
import { until } from "../until.ts";
import { kubePrograms } from "./kube-programs.ts";

/** A connection to a running keeper, which lives as long as it has one. */
export interface KeptCluster {
  readonly folder: string;
  readonly address: string;
  /** A process in its network namespace. */
  readonly pid: number;
  readonly connection: Socket;
}

const cache = resolve(import.meta.dirname, "../../../.cache/world/kubernetes");
const prefix = "platform-kube-";

/** How long the shared one waits for the next story file, ms: less than it takes to start, often enough. */
const sharedIdleMs = 20_000;

/** `$1` folder, `$2` its address, `$3` programs, `$4` tag, `$5` idle ms, `$6` a process of the outer network namespace, `$7` the outer address, `$8` Node, `$9` keeper. */
const setup = `
set -e
link="vk$$"
ip link set lo up
ip link add eth0 type veth peer name "$link" netns "$6"
ip addr add "$2/30" dev eth0
ip link set eth0 up
ip route add default via "$7"
nsenter "--net=/proc/$6/ns/net" sh -c "ip addr add $7/30 dev $link; ip link set $link up"
sysctl -qw net.ipv4.ip_forward=1
mount --make-rprivate /
for one in /run /var/log /var/lib; do mount -t tmpfs tmpfs "$one"; done
echo $$ >"$1/pid"
setpriv --pdeathsig KILL -- unshare --pid --fork --kill-child=KILL --mount-proc -- sh -c '"$7" "$6" "$@" & wait $!' sh "$1" "$2" "$3" "$4" "$5" "$9" "$8"
`;
/** `$1` folder, `$4` tag: what the namespaces leave. After a failure it stays for its log, until the next sweep. */
const cleaning = `
for group in /sys/fs/cgroup/*/"$4"; do find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true; done
rm -rf "$1"
`;

/** The cluster that story files share, or one that ends with its connection. Started in some 15 s if it is not there. Throws NotHere. */
export async function openKeeper(sharing: "shared" | "own"): Promise<KeptCluster> {
  const programs = await kubePrograms();
  await mkdir(cache, { recursive: true });
  if (sharing === "own") return await start(programs, 0);
  const file = join(cache, "shared.json");
  return await holdLock(join(cache, "lock"), async () => {
    const known = existsSync(file) ? (JSON.parse(await readFile(file, "utf8")) as Omit<KeptCluster, "connection">) : undefined;
    const connection = known && (await reach(known.folder));
    if (known && connection) return { ...known, connection };
    await sweep();
    const made = await start(programs, sharedIdleMs);
    await writeFile(file, JSON.stringify({ folder: made.folder, address: made.address, pid: made.pid }));
    return made;
  });
}

async function start(programs: string, idleMs: number): Promise<KeptCluster> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  const tag = folder.slice(folder.lastIndexOf("/") + 1);
  const [outer, address] = await freeAddresses();
  const log = openSync(join(folder, "keeper.log"), "w");
  const keeper = resolve(import.meta.dirname, "keeper.ts");
  const args = [folder, address, programs, tag, String(idleMs), String(process.pid), outer, process.execPath, keeper];
  const child = spawn("unshare", ["--net", "--mount", "--", "sh", "-c", `(${setup}) && (${cleaning})`, "sh", ...args], {
    stdio: ["ignore", log, log],
    detached: true,
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, LANG: "C.UTF-8" },
  });
  closeSync(log);
  child.unref();
  const connection = await until(
    "the cluster is ready",
    async () => {
      if (child.exitCode !== null) throw new Error("ended");
      return await reach(folder);
    },
    120_000,
  ).catch(async (thrown: unknown) => {
    const printed = await readFile(join(folder, "keeper.log"), "utf8").catch(() => "");
    if (child.pid !== undefined) process.kill(child.pid, "SIGKILL");
    throw new Error(`no Kubernetes cluster: ${printed}`, { cause: thrown });
  });
  return { folder, address, pid: child.pid ?? -1, connection };
}

/** A connection on which the keeper has said that it is ready. */
async function reach(folder: string): Promise<Socket | undefined> {
  const connection = connect(join(folder, "socket"));
  connection.on("error", () => {});
  try {
    await once(connection, "connect");
    const [said] = (await once(connection, "data", { signal: AbortSignal.timeout(5_000) })) as [Buffer];
    if (said.toString() === "ready\n") return connection;
  } catch {
    // It is not there, or about to end.
  }
  connection.destroy();
  return undefined;
}

/** Two neighbours of a /30 that no link of this machine has. */
export async function freeAddresses(): Promise<readonly [string, string]> {
  const used = await output("ip", ["-o", "-4", "addr", "show"]);
  for (;;) {
    const net = `198.18.${Math.floor(Math.random() * 200)}`;
    const low = Math.floor(Math.random() * 64) * 4;
    if (!used.includes(` ${net}.${low + 1}/`)) return [`${net}.${low + 1}`, `${net}.${low + 2}`];
  }
}

/** Folders and control groups of clusters that were killed. */
async function sweep(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(tmpdir(), name);
    const pid = await readFile(join(folder, "pid"), "utf8").catch(() => "");
    if (pid !== "" && !existsSync(`/proc/${pid.trim()}`)) await run("sh", ["-c", cleaning, "sh", folder, "", "", name]);
  }
}
