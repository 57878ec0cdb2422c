import { lstat, open } from "node:fs/promises";
import { join } from "node:path";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseVersion } from "../../core/versions/compare-versions.ts";

/** Longest answer of a version endpoint, bytes. */
const maxAnswer = 1024;
const path = "v1/webapi/automaticupgrades/channel/default";

export interface EndpointOptions {
  readonly configDir: string;
  /** `host:port` of the proxies, in the order in which they are tried; called when there is something to write. */
  readonly proxies: () => Promise<readonly string[]>;
  /** PEM certificates of the cluster's host authority, which signs the web certificate where the admin configured none. */
  readonly hostCa: readonly string[];
  /** GET of a path; without `ca`, trusting the updater's authorities. Throws `unauthenticated` for a certificate that is not trusted. */
  readonly get: (proxy: string, path: string, ca?: readonly string[]) => Promise<{ readonly status: number; readonly body: Buffer }>;
}

/**
 * Gives the updater an endpoint when it has none: writes `endpoint` when it is missing or empty, once the endpoint has
 * answered with a version; and `ca`, when only the cluster's own authority vouches for it. Never overwrites.
 * Resolves to the written endpoint; undefined when there was nothing to do. Throws PlatformError when none answers or a file cannot be written.
 */
export async function writeEndpoint(options: EndpointOptions): Promise<string | undefined> {
  const { configDir, hostCa } = options;
  if (await isFilled(join(configDir, "endpoint"))) return undefined;
  const { proxy, ownAuthority } = await firstAnswering(options);
  if (ownAuthority) await fill(join(configDir, "ca"), hostCa.join(""));
  const endpoint = `${proxy}/${path}`;
  return (await fill(join(configDir, "endpoint"), `${endpoint}\n`)) ? endpoint : undefined;
}

async function isFilled(file: string): Promise<boolean> {
  const found = await lstat(file).catch(() => undefined);
  return found !== undefined && (!found.isFile() || found.size > 0);
}

/** False when it already exists. */
async function fill(file: string, text: string): Promise<boolean> {
  if (await isFilled(file)) return false;
  try {
    const flags = (await lstat(file).catch(() => undefined)) === undefined ? "wx" : "r+";
    await using handle = await open(file, flags, 0o644);
    if ((await handle.stat()).size > 0) return false;
    await handle.write(text, 0);
    await handle.sync();
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") return false;
    throw new PlatformError("unavailable", `could not write ${file}: ${String(cause)}`, { cause });
  }
}

async function firstAnswering(options: EndpointOptions): Promise<{ proxy: string; ownAuthority: boolean }> {
  let last: unknown;
  for (const proxy of await options.proxies()) {
    try {
      return { proxy, ownAuthority: await answers(options, proxy) };
    } catch (thrown) {
      last = thrown;
    }
  }
  throw new PlatformError("unavailable", "no version endpoint answers", { cause: last });
}

/** Resolves when it answers with a version, to whether only the cluster's own authority vouches for it. Throws PlatformError. */
async function answers({ get, hostCa }: EndpointOptions, proxy: string): Promise<boolean> {
  let ownAuthority = false;
  let answer: Awaited<ReturnType<typeof get>>;
  try {
    answer = await get(proxy, `/${path}/version`);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
    answer = await get(proxy, `/${path}/version`, hostCa);
    ownAuthority = true;
  }
  const { status, body } = answer;
  const text = body.length <= maxAnswer ? body.toString("utf8").trim() : "";
  if (status === 200 && (text === "none" || parseVersion(text) !== undefined)) return ownAuthority;
  throw new PlatformError("unavailable", `${proxy} did not answer with a version (status ${status})`);
}
