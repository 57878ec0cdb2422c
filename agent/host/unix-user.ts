import { existsSync } from "node:fs";
import { type FileHandle, open, readFile } from "node:fs/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { loginText } from "../../core/resources/metadata.ts";
import { capture } from "./capture.ts";

/** A line of passwd(5). */
export interface UnixUser {
  readonly login: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  /** Never empty: /bin/sh when none is set. */
  readonly shell: string;
}

/** Maximum of /etc/nologin that is read, bytes. */
const maxClosedText = 800;

/**
 * The Unix user of a login, as this host's name service knows it. Throws `denied` when there is none, or when the agent may
 * not become it (it is not root), or when /etc/nologin admits only root.
 */
export async function findUnixUser(login: string): Promise<UnixUser> {
  const user = await findAccount(login);
  if (user === undefined) throw new PlatformError("denied", `there is no Unix user ${JSON.stringify(login)} on this host`);
  const own = process.geteuid?.();
  if (own !== 0 && own !== user.uid) {
    throw new PlatformError("denied", `the agent on this host does not run as root and can only serve its own user, not ${login}`);
  }
  const closed = user.uid === 0 ? undefined : await closedText();
  if (closed !== undefined) throw new PlatformError("denied", `only root may log in right now (/etc/nologin)${closed}`);
  return user;
}

/** The entry of a login, no matter who may use it; undefined if it does not exist. Throws `unavailable`. */
export async function findAccount(login: string): Promise<UnixUser | undefined> {
  return loginText.safeParse(login).success ? await lookUp(login) : undefined;
}

async function lookUp(login: string): Promise<UnixUser | undefined> {
  const getent = findGetent();
  if (getent === undefined) return parsePasswd(await readFile("/etc/passwd", "utf8"), login);
  try {
    return parsePasswd(await ask(getent, "passwd", login), login);
  } catch (cause) {
    throw new PlatformError("unavailable", `could not look up the Unix user ${login}`, { cause });
  }
}

/** The entry of exactly this login; a numeric login must not find a uid (getent takes both). */
export function parsePasswd(text: string, login: string): UnixUser | undefined {
  for (const line of text.split("\n")) {
    const fields = line.split(":");
    const [name, , uid, gid, , home, shell] = fields;
    if (fields.length !== 7 || name !== login || !isId(uid) || !isId(gid)) continue;
    return { login, uid: Number(uid), gid: Number(gid), home: home || "/", shell: shell || "/bin/sh" };
  }
  return undefined;
}

function isId(text: string | undefined): text is string {
  // 4294967295 is (uid_t)-1, "no change" to the system calls.
  return text !== undefined && /^\d{1,10}$/.test(text) && Number(text) < 4_294_967_295;
}

/** The admin's text in /etc/nologin, which may be empty; undefined if there is no such file. An unreadable file closes the host too. */
async function closedText(): Promise<string | undefined> {
  let file: FileHandle;
  try {
    file = await open("/etc/nologin");
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "ENOENT" ? undefined : "";
  }
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxClosedText), 0, maxClosedText, 0);
    const text = buffer.toString("utf8", 0, bytesRead).trim();
    return text === "" ? "" : `: ${text}`;
  } finally {
    await file.close();
  }
}

const dayMs = 86_400_000;

/**
 * Why an account is closed, by its line of shadow(5), as sshd(8) without PAM finds it (auth-shadow.c, platform.c): its date of expiry is
 * past, or its password is locked: `!` before it, as `usermod -L` and `passwd -l` put it there. `!` or `!!` alone is a password that
 * was never set (useradd), and locks nobody out: most users who log in with keys have it. Undefined: it is open. Pure.
 */
export function closedReason(line: string, now: Date): "expired" | "locked" | undefined {
  const [, password = "", , , , , , expiry = ""] = line.split(":");
  const today = Math.floor(now.getTime() / dayMs);
  if (/^-?\d{1,9}$/.test(expiry) && Number(expiry) !== -1 && today > Number(expiry)) return "expired";
  return /^!+[^!]/.test(password) ? "locked" : undefined;
}

/** For an agent that is root and does not ask PAM, which decides itself. Throws `denied` if closed, `unavailable` if its state is unknown. */
export async function requireOpenAccount(login: string, now: () => Date = () => new Date()): Promise<void> {
  const line = loginText.safeParse(login).success ? await shadowLine(login) : undefined;
  const reason = line === undefined ? undefined : closedReason(line, now());
  if (reason === "expired") throw new PlatformError("denied", `the account of the Unix user ${login} has expired on this host`);
  if (reason === "locked") throw new PlatformError("denied", `the Unix user ${login} is locked on this host`);
}

/** Undefined for an account without one, as in some directories. */
async function shadowLine(login: string): Promise<string | undefined> {
  const find = (text: string): string | undefined => text.split("\n").find((one) => one.startsWith(`${login}:`));
  try {
    const getent = findGetent();
    if (getent === undefined) return find(await readFile("/etc/shadow", "utf8"));
    return find(await ask(getent, "shadow", login));
  } catch (cause) {
    throw new PlatformError("unavailable", `could not check whether the account of ${login} is open on this host`, { cause });
  }
}

/** Asks the name service. */
const getents = ["/usr/bin/getent", "/bin/getent"] as const;
/** Its exit status when there is no such entry. */
const notFound = 2;
/** Timeout for one look-up, which may ask a directory server, ms. */
const lookupMs = 10_000;

/** Its path; undefined when this host does not have it and uses only the files of /etc. */
function findGetent(): string | undefined {
  return getents.find((path) => existsSync(path));
}

/** Its answer, which is empty when there is no such entry. Throws Error. */
async function ask(getent: string, database: "passwd" | "shadow", login: string): Promise<string> {
  const { code, stdout } = await capture({ path: getent, args: [database, "--", login], limitMs: lookupMs, maxBytes: 65_536 });
  if (code === notFound) return "";
  if (code !== 0) throw new Error(`getent ended with ${code ?? "a signal"}`);
  return stdout;
}
