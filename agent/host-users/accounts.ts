import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readFile, rm, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { HostUserRule } from "../../core/access/session-rules.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { markerGroups } from "../../core/resources/role.ts";
import { findAccount } from "../host/unix-user.ts";

/** Login names that every tool treats the same: useradd, visudo, a path. */
const creatable = /^[a-z_][a-z0-9_.-]{0,31}$/;
/** userdel(8): the user is not there; the user is gone, its home could not be removed. */
const [notThere, homeStays] = [6, 12] as const;
/** Files kept by user name, which a later user of the same name would inherit. */
const leftovers = ["/var/spool/cron/crontabs", "/var/spool/cron", "/var/spool/mail", "/var/mail", "/var/lib/systemd/linger"] as const;

/** The mode in which an agent created this user; undefined when no agent did, and agents must not change it. */
export async function modeOf(login: string): Promise<HostUserRule["mode"] | undefined> {
  for (const mode of ["keep", "drop"] as const) if ((await madeUsers(mode)).includes(login)) return mode;
  return undefined;
}

/** Logins of the users that agents created. */
export async function madeUsers(mode: HostUserRule["mode"]): Promise<readonly string[]> {
  const line = (await readFile("/etc/group", "utf8")).split("\n").find((one) => one.startsWith(`${markerGroups[mode]}:`));
  return (line?.split(":")[3] ?? "").split(",").filter((login) => login !== "");
}

/** Creates a user with a home and without a password. Throws PlatformError. */
export async function createUser(login: string, { mode, groups }: HostUserRule): Promise<void> {
  if (!creatable.test(login)) {
    throw new PlatformError("denied", `this host has no Unix user ${login} and cannot create one with this name`, {
      hint: "a created login may have up to 32 of the characters a-z 0-9 _ . -",
    });
  }
  const all = await ensureGroups(mode, groups);
  const hasGroup = (await groupNames()).has(login);
  // An existing group of this name may carry rights: the user then gets the usual group.
  const own = hasGroup ? ["--no-user-group"] : [];
  await runTool("useradd", ["--create-home", ...own, "--comment", "made by platform", "--groups", all.join(","), "--", login]);
}

/** Sets exactly these groups and the mark of this mode on a user that agents created; a kept user stays kept. */
export async function changeUser(login: string, { mode, groups }: HostUserRule, was: HostUserRule["mode"]): Promise<void> {
  const all = await ensureGroups(was === "keep" ? "keep" : mode, groups);
  await runTool("usermod", ["--groups", all.join(","), "--", login]);
}

/** Ends the user's processes and removes the user with its home. Throws PlatformError; a user that is already gone is not an error. */
export async function removeUser(login: string): Promise<void> {
  const user = await findAccount(login);
  if (user === undefined || user.uid === 0) return;
  await endProcesses(login, user.uid);
  try {
    await runTool("userdel", ["--remove", "--", login]);
  } catch (thrown) {
    const status = exitStatusOf(thrown);
    if (status !== notThere && status !== homeStays) throw thrown;
  }
  for (const folder of leftovers) await rm(`${folder}/${login}`, { force: true }).catch(() => {});
  if (await isFolderOf(user.home, user.uid))
    throw new PlatformError("unavailable", `removed user ${login}, but could not remove its home ${user.home}`);
}

async function ensureGroups(mode: HostUserRule["mode"], groups: readonly string[]): Promise<readonly string[]> {
  const known = await groupNames();
  const marker = markerGroups[mode];
  if (!known.has(marker)) await runTool("groupadd", ["--system", "--", marker]);
  for (const group of groups) if (!known.has(group)) await runTool("groupadd", ["--", group]);
  return [marker, ...groups];
}

async function groupNames(): Promise<ReadonlySet<string>> {
  return new Set((await runTool("getent", ["group"])).split("\n").map((line) => line.split(":", 1)[0] ?? ""));
}

async function isFolderOf(path: string, uid: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && found.uid === uid;
}

/** Time from the hang-up, which programs may handle, to the kill; between two checks; for all of it: ms. */
const graceMs = 2_000;
const lookMs = 100;
const endMs = 10_000;

/** Ends all processes of a user: by a hang-up first, then by a kill. Throws `unavailable` when some survive. */
async function endProcesses(login: string, uid: number): Promise<void> {
  for (let waited = 0; ; waited += lookMs) {
    const left = processesOf(uid);
    if (left.length === 0) return;
    if (waited >= endMs) throw new PlatformError("unavailable", `could not end processes of ${login}: ${left.slice(0, 5).join(", ")}`);
    if (waited === 0) send(left, "SIGHUP");
    else if (waited >= graceMs) send(left, "SIGKILL");
    await sleep(lookMs);
  }
}

/** Live processes: a zombie only waits for its parent. */
function processesOf(uid: number): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const status = statusOf(pid);
      return new RegExp(`^Uid:.*\\t${uid}(\\t|$)`, "m").test(status) && !/^State:\s+[ZX]/m.test(status) && !isContainers(pid);
    });
}

/**
 * A container that root started may use the same number for a user of its own: it has another pid namespace within our user
 * namespace. A namespace that the user created has its own user namespace.
 */
function isContainers(pid: number): boolean {
  const isOurs = (kind: string): boolean => namespaceOf(pid, kind) === namespaceOf("self", kind);
  return isOurs("user") && !isOurs("pid");
}

function namespaceOf(pid: number | "self", kind: string): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return "gone";
  }
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}

function send(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended between the check and the signal.
    }
  }
}

const execute = promisify(execFile);
/** useradd waits for the lock of the password file by itself, 15 s at most. */
const toolMs = 30_000;

/** Runs a system program, whose name no user chose. Throws `unsupported` when it is missing, `unavailable` with its output when it fails. */
export async function runTool(name: string, args: readonly string[]): Promise<string> {
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
  try {
    return (await execute(name, [...args], { env, cwd: "/", timeout: toolMs, killSignal: "SIGKILL", maxBuffer: 1_048_576 })).stdout;
  } catch (cause) {
    const { code, stderr = "" } = cause as { code?: number | string; stderr?: string };
    if (code === "ENOENT") throw new PlatformError("unsupported", `${name} is not installed on this host`, { cause });
    throw new PlatformError("unavailable", `${name} failed: ${stderr.trim().split("\n").slice(0, 3).join("; ").slice(0, 500) || String(code)}`, {
      cause,
    });
  }
}

/** Its exit status, when it ran. */
function exitStatusOf(thrown: unknown): number | undefined {
  const cause = thrown instanceof PlatformError ? thrown.cause : undefined;
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  return typeof code === "number" ? code : undefined;
}
