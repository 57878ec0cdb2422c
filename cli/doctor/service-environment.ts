import { open } from "node:fs/promises";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { proxyVariables, readEnvironment } from "../../core/transport/dial/proxy-environment.ts";
import type { Answer } from "./examination.ts";

/** The unit's environment file; `text` is undefined when it is missing. */
interface EnvironmentFile {
  readonly path: string;
  readonly text: string | undefined;
  /** Every user of the host may read it. */
  readonly isOpenToAll?: boolean;
  /** It exists, and this user may not read it. */
  readonly isDenied?: boolean;
}

/** Maximum size read, bytes. */
const maxLength = 65_536;

/** A file that is missing or unreadable has no text. */
export async function readEnvironmentFile(path: string): Promise<EnvironmentFile> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxLength), 0, maxLength, 0);
    const isOpenToAll = ((await file.stat()).mode & 0o004) !== 0;
    return { path, text: buffer.toString("utf8", 0, bytesRead), isOpenToAll };
  } catch (thrown) {
    return { path, text: undefined, isDenied: thrown instanceof Error && "code" in thrown && thrown.code === "EACCES" };
  }
}

/**
 * Proxy variables of the running service: those of its environment file, else those of this shell (for a service that was started by
 * hand). Values are never shown: they may hold a password. Pure.
 */
export function serviceEnvironment(env: Env, { path, text, isOpenToAll = false, isDenied = false }: EnvironmentFile): Answer<Env> {
  const { values: file, ignored } = readEnvironment(text ?? "");
  const inFile = proxyVariables.filter((name) => (file.get(name) ?? "").trim() !== "");
  const inShell = proxyVariables.filter((name) => (env[name] ?? "").trim() !== "");
  const left = ignored.map(
    ({ line, name }) => `systemd ignores line ${line} of ${path} (${name})${/^export\s/.test(name) ? ": remove the word export" : ""}`,
  );
  const isExposed = isOpenToAll && inFile.some((name) => file.get(name)?.includes("@") === true);
  const warnings = [...left, ...(isExposed ? [`every user of this host may read ${path}, which holds a password: chmod 600 ${path}`] : [])];
  if (isDenied) {
    const says = inShell.length === 0 ? "no proxy is set in this shell" : `${inShell.join(", ")} of this shell`;
    return { says, value: env, warning: `this user may not read ${path}, where the service's proxy is set if it has one: run as root` };
  }
  if (inFile.length === 0) {
    const says = inShell.length === 0 ? `no proxy is set in ${path} or in this shell` : `${inShell.join(", ")} of this shell: ${path} sets no proxy`;
    if (inShell.length > 0) warnings.push(`a service of systemd does not have them: write them into ${path}`);
    return { says, value: env, warning: joined(warnings) };
  }
  const others = Object.fromEntries(Object.entries(env).filter(([name]) => !(proxyVariables as readonly string[]).includes(name)));
  return { says: `${inFile.join(", ")} as ${path} sets them`, value: { ...others, ...Object.fromEntries(file) }, warning: joined(warnings) };
}

function joined(warnings: readonly string[]): string | undefined {
  return warnings.length === 0 ? undefined : warnings.join("; ");
}
