import { readFile } from "node:fs/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { formatHostPort, listenersPort, parseHostPort, withPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";

export interface HostConfig {
  readonly dataDir: string;
  /** `proxy_service.public_addr`, when this host's file has one. */
  readonly proxyAddress: string | undefined;
}

const defaultFile = "/etc/platform.yaml";
const defaultWebPort = 3080;
const defaultDataDir = "/var/lib/platform";

/**
 * Where this host keeps its data: `--data-dir`, PLATFORM_DATA_DIR, the file of `--config`, /etc/platform.yaml, the default.
 * Only these two keys are read: a file that `platform start` would refuse must not lock the admin out.
 */
export async function hostConfig({ io, options }: Call): Promise<HostConfig> {
  const named = options.text("config");
  const file = named ?? defaultFile;
  const keys = await readKeys(file, named !== undefined);
  const dataDir = options.text("dataDir") ?? (io.env.PLATFORM_DATA_DIR || undefined) ?? keys.dataDir ?? defaultDataDir;
  return { dataDir, proxyAddress: keys.proxyAddress };
}

interface Keys {
  readonly dataDir?: string | undefined;
  readonly proxyAddress?: string | undefined;
}

async function readKeys(file: string, wanted: boolean): Promise<Keys> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    if (!wanted) return {};
    throw new PlatformError("invalid", `could not read ${file}: ${(cause as Error).message}`, {
      cause,
      hint: "pass the configuration file of this host with --config",
    });
  }
  const { parse } = await import("yaml");
  try {
    const value: unknown = parse(text, { maxAliasCount: 100 });
    return { dataDir: textOf(at(at(value, "platform"), "data_dir")), proxyAddress: publicAddress(at(value, "proxy_service")) };
  } catch (cause) {
    if (!wanted) return {};
    throw new PlatformError("invalid", `${file} is not YAML: ${(cause as Error).message.split("\n")[0]}`, { cause });
  }
}

/** Adds the port of `web_listen_addr` if it has none. Undefined for a value with which the proxy would not start. */
function publicAddress(proxy: unknown): string | undefined {
  const written = at(proxy, "public_addr");
  const first = textOf(Array.isArray(written) ? written[0] : written);
  if (first === undefined) return undefined;
  try {
    const listen = parseHostPort(textOf(at(proxy, "web_listen_addr")) ?? "0.0.0.0", defaultWebPort, "web_listen_addr");
    return formatHostPort(withPort(parseHostPort(first, listenersPort, "public_addr"), listen));
  } catch {
    return undefined;
  }
}

function at(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
