import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { errorText, PlatformError } from "../core/errors/platform-error.ts";
import { type HostPort, parseHostPort } from "../core/transport/host-port.ts";
import type { InstallerKind } from "./installers/installer.ts";
import { parseSchedule, type Schedule } from "./tick/schedule.ts";
import { UpgradeError } from "./tick/upgrade-error.ts";

/** Address of the endpoint: `path` begins with a slash, without /version. */
export interface Endpoint extends HostPort {
  readonly path: string;
  /** Name of the channel, for users. */
  readonly channel: string;
}

/** Settings of /etc/platform-upgrade.d; one file is one setting. */
export interface Settings {
  /** Or why there is none: an interrupted upgrade is completed without it. */
  readonly endpoint: Endpoint | UpgradeError;
  readonly package: string;
  /** Omitted to detect it. */
  readonly installer?: InstallerKind;
  readonly schedule: Schedule;
  /** Lowest version that may be installed, set by the host's admin; as written. */
  readonly minimum?: string;
  /** Public keys with which the cluster signs wanted versions, as lines; the agent writes them. */
  readonly authorities: readonly string[];
  /** PEM; additional trusted authorities for the endpoint. */
  readonly ca?: string;
}

/** Maximum keys that are tried; a rotation has two. */
const maxAuthorities = 8;
const installers = ["apt", "yum", "zypper"] as const;

/** Throws UpgradeError `not_configured` naming the file, except for settings that the completion of an interrupted upgrade does not need. */
export async function readSettings(folder: string): Promise<Settings> {
  const read = async (name: string): Promise<string | undefined> => await readSetting(join(folder, name));
  const endpoint = await endpointOf(folder);
  const name = settingValue((await read("package")) ?? "") || "platform-ent";
  const installer = settingValue((await read("installer")) ?? "");
  if (!/^[a-z0-9][a-z0-9+._-]{0,127}$/.test(name)) throw refused(folder, "package", `names ${JSON.stringify(name)}, which is not a package name`);
  const kind = installers.find((one) => one === installer);
  if (installer !== "" && kind === undefined) throw refused(folder, "installer", `says ${JSON.stringify(installer)}; use apt, yum or zypper`);
  const minimum = settingValue((await read("minimum").catch(() => "(it cannot be read)")) ?? "");
  return {
    package: name,
    ...(kind !== undefined && { installer: kind }),
    ...(minimum !== "" && { minimum }),
    authorities: await authoritiesOf(join(folder, "authorities")),
    schedule: await scheduleOf(join(folder, "schedule")),
    ...endpoint,
  };
}

async function endpointOf(folder: string): Promise<Pick<Settings, "endpoint" | "ca">> {
  try {
    const path = join(folder, "endpoint");
    const endpoint = parseEndpoint(settingValue((await readSetting(path)) ?? ""), path);
    const ca = await readSetting(join(folder, "ca"));
    return { endpoint, ...(ca !== undefined && ca.trim() !== "" && { ca }) };
  } catch (thrown) {
    if (thrown instanceof UpgradeError) return { endpoint: thrown };
    throw thrown;
  }
}

/** The agent writes it, which need not be root: an invalid one opens no window and blocks nothing else. */
async function scheduleOf(path: string): Promise<Schedule> {
  try {
    return parseSchedule((await readSetting(path)) ?? "");
  } catch (thrown) {
    if (thrown instanceof UpgradeError) return { windows: [], unreadable: 1 };
    throw thrown;
  }
}

/** The agent writes them, which need not be root: an unreadable file counts as none. */
async function authoritiesOf(path: string): Promise<readonly string[]> {
  const text = await readSetting(path).catch(() => undefined);
  return (text ?? "")
    .split("\n")
    .filter((line) => line.startsWith("ssh-ed25519 "))
    .slice(0, maxAuthorities);
}

/** `host[:port]/path`, without scheme. Throws UpgradeError `not_configured` naming `source`. */
export function parseEndpoint(text: string, source: string): Endpoint {
  if (text === "") {
    const hint = "write <proxy address>/v1/webapi/automaticupgrades/channel/default into it";
    throw new UpgradeError("not_configured", `${source} is missing or empty: ${hint}`);
  }
  const slash = text.indexOf("/");
  const [place, path] = slash < 0 ? [text, ""] : [text.slice(0, slash), text.slice(slash).replace(/\/+$/, "")];
  // Room is left for /version, and for the host's id.
  if (!/^(\/[\x21\x24-\x3e\x40-\x7e]*)?$/.test(path) || path.length > 1024) {
    throw new UpgradeError("not_configured", `${source}: ${JSON.stringify(path.slice(0, 100))} is not a path`);
  }
  try {
    const channel = /\/channel\/(.+)$/.exec(path)?.[1] ?? path.slice(1);
    return { ...parseHostPort(place, 443, source), path, channel: channel.slice(0, 128) };
  } catch (cause) {
    const hint = cause instanceof PlatformError && cause.hint !== undefined ? `; ${cause.hint}` : "";
    throw new UpgradeError("not_configured", `${errorText(cause)}${hint}, without https://`, { cause });
  }
}

/** The first line with content; `#` begins a comment. */
function settingValue(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.find((line) => line !== "" && !line.startsWith("#")) ?? "";
}

function refused(folder: string, name: string, why: string): UpgradeError {
  return new UpgradeError("not_configured", `${join(folder, name)} ${why}`);
}

/** Maximum file that is read, bytes. */
const maxBytes = 262_144;

/**
 * Text of a setting's file; undefined for a missing one. The owner of a file may be another user than root: anything but a regular file, such as
 * a pipe or a device, is refused without waiting. Throws UpgradeError `not_configured`.
 */
async function readSetting(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) throw new UpgradeError("not_configured", `${path} is not a regular file`);
    return await readBounded(file, path);
  } catch (cause) {
    if (cause instanceof UpgradeError) throw cause;
    if (cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ENOTDIR")) return undefined;
    throw new UpgradeError("not_configured", `could not read ${path}: ${errorText(cause)}`, { cause });
  }
}

async function readBounded(file: FileHandle, path: string): Promise<string> {
  const buffer = Buffer.alloc(maxBytes + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length);
    length += bytesRead;
    if (length > maxBytes) throw new UpgradeError("not_configured", `${path} is longer than ${maxBytes} bytes`);
    if (bytesRead === 0) return buffer.toString("utf8", 0, length);
  }
}
