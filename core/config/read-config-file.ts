import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { errorText, PlatformError } from "../errors/platform-error.ts";
import { hostnameText } from "../resources/node.ts";
import { type FileSections, type ParsedConfig, type Problem, parseConfig, problemsError } from "./parse-config.ts";
import type { PlatformConfig } from "./platform-config.ts";

export interface ReadConfig {
  readonly config: PlatformConfig;
  /** Warnings about things that work but should be fixed, one sentence each. */
  readonly warnings: readonly string[];
}

/** Longest configuration file, bytes. */
const maxFile = 1024 * 1024;
/** Longest file of a token or a pin, bytes. */
const maxSecret = 4096;

/**
 * Reads and checks a configuration file and the files that it names for auth_token and ca_pin. `hostname` is the default nodename.
 * Throws `invalid` with every problem on a line of its own, `not_found` or `denied` when the file cannot be opened.
 */
export async function readConfigFile(file: string, hostname: string): Promise<ReadConfig> {
  const { text } = await readText(file, maxFile, "the configuration file");
  const parsed = parseConfig(text);
  if (parsed.sections === undefined) throw problemsError(file, parsed.problems);
  return await withFiles(file, hostname, { ...parsed, sections: parsed.sections });
}

async function withFiles(file: string, hostname: string, parsed: ParsedConfig & { sections: FileSections }): Promise<ReadConfig> {
  const problems: Problem[] = [];
  const warnings: string[] = [];
  const { nodename = hostname, auth_token, join_params, ca_pin, ...platform } = parsed.sections.platform;
  const report = (path: readonly PropertyKey[], text: string): void => {
    const line = parsed.lineOf(path);
    problems.push(line === undefined ? { text } : { line, text });
  };
  if (!hostnameText.safeParse(nodename).success)
    report(["platform"], `this host's name ${JSON.stringify(nodename)} cannot be a nodename; set platform.nodename`);
  const secret = async (value: string, path: readonly PropertyKey[]): Promise<string> => {
    if (!isAbsolute(value)) return value;
    try {
      const { text, mode } = await readText(value, maxSecret, path.join("."));
      if (path.includes("auth_token") && (mode & 0o004) !== 0) warnings.push(`${value} holds a token and everyone may read it; chmod 600 it`);
      if (text.trim() === "") report(path, `${path.join(".")}: ${value} is empty`);
      return text.trim();
    } catch (thrown) {
      report(path, errorText(thrown));
      return "";
    }
  };
  const tokenPath = auth_token === undefined ? ["platform", "join_params", "token_name"] : ["platform", "auth_token"];
  const written = auth_token ?? join_params?.token_name;
  const joinMethod = join_params?.method ?? "token";
  const token = written === undefined || joinMethod === "kubernetes" ? written : await secret(written, tokenPath);
  const caPins: string[] = [];
  for (const pin of ca_pin ?? []) {
    const read = (await secret(pin, ["platform", "ca_pin"])).toLowerCase();
    if (/^sha256:[0-9a-f]{64}$/.test(read)) caPins.push(read);
    else if (read !== "") report(["platform", "ca_pin"], "platform.ca_pin must be sha256: and 64 hex digits; `tctl status` prints it");
  }
  if (problems.length > 0) throw problemsError(file, problems);
  return { config: { ...parsed.sections, platform: { ...platform, nodename, joinMethod, token, caPins } }, warnings };
}

async function readText(file: string, limit: number, what: string): Promise<{ text: string; mode: number }> {
  let handle: FileHandle;
  try {
    // Non-blocking: a named pipe without a writer must not block the start forever.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw openError(file, what, cause);
  }
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new PlatformError("invalid", `${what}: ${file} is not a file`);
    const bytes = Buffer.alloc(limit + 1);
    let length = 0;
    for (let got = 1; got > 0 && length <= limit; length += got) got = (await handle.read(bytes, length, bytes.length - length)).bytesRead;
    if (length > limit) throw new PlatformError("invalid", `${what}: ${file} is longer than ${limit} bytes`);
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length)), mode: stat.mode };
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    if (cause instanceof TypeError) throw new PlatformError("invalid", `${what}: ${file} is not UTF-8 text`, { cause });
    throw new PlatformError("unavailable", `${what}: could not read ${file}: ${errorText(cause)}`, { cause });
  } finally {
    await handle.close();
  }
}

function openError(file: string, what: string, cause: unknown): PlatformError {
  const code = (cause as NodeJS.ErrnoException).code;
  if (code === "ENOENT") {
    return new PlatformError("not_found", `${what}: ${file} does not exist`, { hint: "`platform configure --output file` writes one", cause });
  }
  if (code === "EACCES") return new PlatformError("denied", `${what}: ${file} may not be read by this user`, { hint: "run as root", cause });
  return new PlatformError("unavailable", `${what}: could not open ${file}: ${errorText(cause)}`, { cause });
}
