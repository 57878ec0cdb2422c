import { readFile } from "node:fs/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { loginText } from "../../core/resources/metadata.ts";
import { capture } from "./capture.ts";
import { findGetent, notFound } from "./getent.ts";

/** Timeout for one look-up, which may ask a directory server, ms. */
const lookupMs = 10_000;
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
    const { code, stdout } = await capture({ path: getent, args: ["shadow", "--", login], limitMs: lookupMs, maxBytes: 65_536 });
    if (code === notFound) return undefined;
    if (code !== 0) throw new Error(`getent ended with ${code ?? "a signal"}`);
    return find(stdout);
  } catch (cause) {
    throw new PlatformError("unavailable", `could not check whether the account of ${login} is open on this host`, { cause });
  }
}
