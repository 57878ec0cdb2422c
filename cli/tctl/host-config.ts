import { readFile } from "node:fs/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Call } from "../command.ts";

export interface HostConfig {
  readonly dataDir: string;
  /** `proxy_service.public_addr`, when this host's file has one. */
  readonly proxyAddress: string | undefined;
}

const defaultFile = "/etc/platform.yaml";
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
    throw new PlatformError("invalid", `cannot read ${file}: ${(cause as Error).message}`, {
      cause,
      hint: "name the configuration file of this host with --config",
    });
  }
  const { parse } = await import("yaml");
  try {
    const value: unknown = parse(text, { maxAliasCount: 100 });
    const address = at(at(value, "proxy_service"), "public_addr");
    const first = Array.isArray(address) ? address[0] : address;
    return { dataDir: textOf(at(at(value, "platform"), "data_dir")), proxyAddress: textOf(first) };
  } catch (cause) {
    if (!wanted) return {};
    throw new PlatformError("invalid", `${file} is not YAML: ${(cause as Error).message.split("\n")[0]}`, { cause });
  }
}

function at(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
