import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { readDocument } from "../../core/resources/document.ts";
import { type ClusterProxy, maxAgentProxies, proxyDocument, proxySchema } from "../../core/resources/proxy.ts";

export interface FollowProxiesOptions {
  readonly client: () => Promise<Pick<AuthClient, "listProxies">>;
  readonly log: Log;
  /** Called when the list has changed. */
  readonly onList: (proxies: readonly ClusterProxy[]) => void;
  readonly random?: () => number;
  /** File that keeps the list for the next start. */
  readonly file: string;
  /** Agents of a cluster spread their requests over this time after a change, ms. */
  readonly spreadMs?: number;
}

export interface ProxyFollower {
  /** A proxy reports the revision of the list: it is fetched when it differs from the one held here. */
  announced(revision: string): void;
}

/** Maximum proxies in one list. */
const maxProxies = 1_000;
/** Revisions that were requested although the list no longer has them: a stale proxy keeps reporting one. */
const maxAsked = 16;
const spreadMs = 1_500;

/**
 * Follows the auth service's own list of the cluster's proxies: a proxy's report only triggers a fetch. One request at a
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
      log.warn("the cluster has more proxies than a host keeps tunnels to: this host is reachable through some of them only", {
        proxies: proxies.length,
        tunnels: maxAgentProxies,
      });
    }
    onList(proxies);
    await writeList(file, proxies).catch((error: unknown) => log.debug("could not save the list of proxies", { error: errorText(error) }));
  };
  const ask = async (): Promise<void> => {
    asking = true;
    // The first request comes from a host that has just started; later ones would come from all hosts at once.
    if (known !== undefined) await sleep(random() * (options.spreadMs ?? spreadMs), undefined, { signal, ref: false }).catch(() => {});
    while (wanted !== undefined && !signal.aborted) {
      const revision = wanted;
      wanted = undefined;
      try {
        await fetchList();
        if (revision !== known) asked = [...asked, revision].slice(-maxAsked);
      } catch (error) {
        // The next heartbeat reports it again.
        log.debug("could not fetch the list of proxies", { error: errorText(error) });
      }
    }
    asking = false;
  };
  return {
    announced: (revision) => {
      if (revision === "" || revision === known || asked.includes(revision)) return;
      wanted = revision;
      if (!asking) void ask();
    },
  };
}

/** An unreadable entry is skipped. */
function readProxy(json: string): readonly ClusterProxy[] {
  try {
    return [readDocument(proxyDocument, json)];
  } catch {
    return [];
  }
}

const fileSchema = z.object({ version: z.literal(1), proxies: z.array(proxySchema).max(maxProxies) });

/** The list of the last run, for when the proxy where this host joined is gone. Empty when there is none. */
export async function readList(file: string): Promise<readonly ClusterProxy[]> {
  try {
    return fileSchema.parse(JSON.parse(await readFile(file, "utf8"))).proxies;
  } catch {
    return [];
  }
}

async function writeList(file: string, proxies: readonly ClusterProxy[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // Two processes may write while one takes over from the other.
  const fresh = `${file}.${process.pid}.new`;
  await writeFile(fresh, JSON.stringify({ version: 1, proxies }), { mode: 0o600 });
  await rename(fresh, file);
}
