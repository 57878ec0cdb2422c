import { type FileHandle, open, readFile } from "node:fs/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { loginText } from "../../core/resources/metadata.ts";
import { capture } from "./capture.ts";
import { findGetent, notFound } from "./getent.ts";

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
/** Timeout for one look-up, which may ask a directory server, ms. */
const lookupMs = 10_000;

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
    const { code, stdout } = await capture({ path: getent, args: ["passwd", "--", login], limitMs: lookupMs, maxBytes: 65_536 });
    if (code === notFound) return undefined;
    if (code !== 0) throw new Error(`getent ended with ${code ?? "a signal"}`);
    return parsePasswd(stdout, login);
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
