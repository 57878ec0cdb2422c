import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { CliIo } from "../../io.ts";

/** An X server as DISPLAY names it. */
export interface Display {
  readonly connect: { readonly path: string } | { readonly host: string; readonly port: number };
  readonly screen: number;
  /** Its name for xauth(1). */
  readonly name: string;
}

const firstPort = 6000;

/** `:0`, `:0.1`, `unix:0`, `host:0`, or a socket's path with `:0` after it. Undefined for anything else. Pure. */
export function parseDisplay(text: string): Display | undefined {
  const found = /^(.*):(\d{1,4})(?:\.(\d{1,3}))?$/.exec(text);
  if (found === null) return undefined;
  const [, host = "", number = "", screen = "0"] = found;
  const display = Number(number);
  const facts = { screen: Number(screen), name: text };
  if (host.startsWith("/")) return { ...facts, connect: { path: host } };
  if (host === "" || host === "unix") return { ...facts, name: `unix:${display}`, connect: { path: `/tmp/.X11-unix/X${display}` } };
  if (!/^[A-Za-z0-9.:[\]_-]{1,255}$/.test(host)) return undefined;
  return { ...facts, connect: { host: host.replace(/^\[(.*)\]$/, "$1"), port: firstPort + display } };
}

const run = promisify(execFile);
/** Time limit of one run of xauth(1), which waits for the lock of its file, ms. */
const xauthMs = 5000;
export const cookieProtocol = "MIT-MAGIC-COOKIE-1";
const cookieLength = 16;

/** The cookie of the local X server. Without one in xauth(1): a random one, for a server that requires none. */
export async function findCookie(name: string, env: CliIo["env"]): Promise<Buffer> {
  return (await list([], name, env)) ?? randomBytes(cookieLength);
}

/** A cookie that the X server makes for untrusted clients, valid for the given seconds. Throws `unavailable`. */
export async function makeUntrustedCookie(name: string, seconds: number, env: CliIo["env"]): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), "tsh-x11-"));
  try {
    const file = ["-f", join(folder, "xauthority")];
    const make = [...file, "generate", name, cookieProtocol, "untrusted", "timeout", String(seconds)];
    await run("xauth", make, { env, timeout: xauthMs }).catch(() => {});
    const cookie = await list(file, name, env);
    if (cookie !== undefined) return cookie;
    throw new PlatformError("unavailable", "the X server made no cookie for untrusted clients", {
      hint: "-Y trusts the host with the whole display; -X needs xauth and a server with the SECURITY extension",
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function list(file: readonly string[], name: string, env: CliIo["env"]): Promise<Buffer | undefined> {
  try {
    const { stdout } = await run("xauth", [...file, "list", name], { env, timeout: xauthMs });
    for (const line of stdout.split("\n")) {
      const [, protocol, cookie = ""] = line.trim().split(/\s+/);
      if (protocol === cookieProtocol && /^[0-9a-f]{32}$/i.test(cookie)) return Buffer.from(cookie, "hex");
    }
  } catch {
    // Without xauth or its file there is no cookie.
  }
  return undefined;
}
