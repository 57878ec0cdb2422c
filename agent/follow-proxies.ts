import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { AuthClient } from "../core/api/auth-client.ts";
import { parseJson } from "../core/bytes/parse-json.ts";
import { errorText } from "../core/errors/platform-error.ts";
import type { Log } from "../core/log/log.ts";
import { type ClusterProxy, maxAgentProxies, proxySchema } from "../core/resources/proxy.ts";

export interface FollowProxiesOptions {
  readonly client: () => Promise<Pick<AuthClient, "listProxies">>;
  readonly log: Log;
  /** The list is another one. */
  readonly onList: (proxies: readonly ClusterProxy[]) => void;
  readonly random?: () => number;
  /** Where the list is kept for the next start. */
  readonly file: string;
  /** Agents of a cluster ask within this time of a change, ms. */
  readonly spreadMs?: number;
}

export interface ProxyFollower {
  /** A proxy says that the list has this revision: another one than is known here is fetched. */
  told(revision: string): void;
}

/** Proxies of one list, at most. */
const maxProxies = 1_000;
/** Revisions that were asked for and that the list turned out not to have: a proxy that is behind says one again and again. */
const maxAsked = 16;
const spreadMs = 1_500;

/**
 * The cluster's proxies as the auth service itself says: the word of a proxy only says that there is something to fetch. One question at a
 * time. Never throws.
 */
export function followProxies(options: FollowProxiesOptions, signal: AbortSignal): ProxyFollower {
  const { client, log, onList, random = Math.random, file } = options;
  let known: string | undefined;
  let asked: string[] = [];
  let asking = false;
  let wanted: string | undefined;
  const fetchList = async (): Promise<void> => {
    const { revision, proxiesJson } = await (await client()).listProxies({});
    const isNew = revision !== known;
    known = revision;
    if (!isNew) return;
    asked = [];
    const proxies = proxiesJson.slice(0, maxProxies).flatMap(readProxy);
    if (proxies.length > maxAgentProxies) {
      log.warn("the cluster has more proxies than a host keeps tunnels to: people reach this host through some of them only", {
        proxies: proxies.length,
        tunnels: maxAgentProxies,
      });
    }
    onList(proxies);
    await writeList(file, proxies).catch((error: unknown) => log.debug("the list of proxies could not be kept", { error: errorText(error) }));
  };
  const ask = async (): Promise<void> => {
    asking = true;
    // The first question is that of a host that has just come; later ones come from all hosts at once.
    if (known !== undefined) await sleep(random() * (options.spreadMs ?? spreadMs), undefined, { signal, ref: false }).catch(() => {});
    while (wanted !== undefined && !signal.aborted) {
      const revision = wanted;
      wanted = undefined;
      try {
        await fetchList();
        if (revision !== known) asked = [...asked, revision].slice(-maxAsked);
      } catch (error) {
        // The next heartbeat says it again.
        log.debug("the list of proxies cannot be fetched now", { error: errorText(error) });
      }
    }
    asking = false;
  };
  return {
    told: (revision) => {
      if (revision === "" || revision === known || asked.includes(revision)) return;
      wanted = revision;
      if (!asking) void ask();
    },
  };
}

/** One that cannot be read is not connected to; the others are. */
function readProxy(json: string): readonly ClusterProxy[] {
  const parsed = proxySchema.safeParse(parseJson(json, "a proxy"));
  return parsed.success ? [parsed.data] : [];
}

const fileSchema = z.object({ version: z.literal(1), proxies: z.array(proxySchema).max(maxProxies) });

/** The list of the last run: the way in when the proxy where this host joined is gone. Empty when there is none. */
export async function readList(file: string): Promise<readonly ClusterProxy[]> {
  try {
    return fileSchema.parse(JSON.parse(await readFile(file, "utf8"))).proxies;
  } catch {
    return [];
  }
}

async function writeList(file: string, proxies: readonly ClusterProxy[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // Two processes write while one takes over from the other.
  const fresh = `${file}.${process.pid}.new`;
  await writeFile(fresh, JSON.stringify({ version: 1, proxies }), { mode: 0o600 });
  await rename(fresh, file);
}
