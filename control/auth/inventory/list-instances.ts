import { setImmediate as breathe } from "node:timers/promises";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { inventoryName } from "../../../core/kinds/service-kinds.ts";
import { type Instance, instanceUpgraders } from "../../../core/resources/instance.ts";
import { type Node, nodeSchema } from "../../../core/resources/node.ts";
import type { RolloutGroup } from "../../../core/resources/upgrade-rollout.ts";
import { compareVersions, parseVersion } from "../../../core/versions/compare-versions.ts";
import { version as ownVersion } from "../../../core/versions/version.ts";
import type { AuthContext } from "../auth-context.ts";
import { fromEntry } from "../document.ts";
import { groupOf } from "../rollout/rollout-host.ts";
import { findRollout } from "../rollout/rollout-store.ts";
import { refusedNames } from "./names-in-use.ts";

export const maxInstances = 1_000;
/** Records read at once: the service does other work in between. */
const batch = 250;

type Context = Pick<AuthContext, "storage" | "live" | "proxies" | "channels" | "cluster" | "nodename">;

/**
 * The inventory in parts: the auth service, the proxies, then the hosts, each by id. `cursor` is the end of the last part; an
 * empty one starts. Throws `invalid` for a malformed filter or cursor.
 */
export async function listInstances(
  context: Context,
  { filter, limit, cursor }: { filter: InventoryFilter; limit: number; cursor: string },
): Promise<{ instances: readonly Instance[]; cursor: string }> {
  const matches = instanceMatcher(filter);
  const wanted = Math.min(limit === 0 ? maxInstances : limit, maxInstances);
  const found: Instance[] = [];
  let at = cursor === "" ? "/auth" : cursor;
  if (at === "/auth") {
    const own = authInstance(context);
    if (matches(own)) found.push(own);
    at = "/proxy/";
  }
  while (at !== "" && found.length < wanted) {
    const next = await readBatch(context, at, Math.min(batch, wanted - found.length));
    found.push(...next.instances.filter(matches));
    at = next.cursor;
    await breathe();
  }
  return { instances: found, cursor: at };
}

/** A few records after the cursor, and the next cursor. */
async function readBatch(context: Context, after: string, limit: number): Promise<{ instances: readonly Instance[]; cursor: string }> {
  const prefix = ["/proxy/", "/node/"].find((one) => after.startsWith(one));
  if (prefix === undefined) throw new PlatformError("invalid", "invalid cursor");
  const entries = await context.storage.list(prefix, { after, limit });
  const isNode = prefix === "/node/";
  const refused = isNode ? await refusedNames(context.storage) : new Map<string, readonly string[]>();
  const groups = isNode ? ((await findRollout(context.storage))?.spec.groups ?? []) : [];
  const toInstance = (at: Context, node: Node) =>
    isNode ? nodeInstance(at, node, { refused: refused.get(node.metadata.name), groups }) : proxyInstance(at, node);
  const instances = entries.flatMap((entry) => toInstance(context, fromEntry(nodeSchema, entry)) ?? []);
  const last = entries.at(-1)?.key;
  if (last !== undefined && entries.length === limit) return { instances, cursor: last };
  return { instances, cursor: prefix === "/proxy/" ? "/node/" : "" };
}

function authInstance({ cluster, nodename }: Context): Instance {
  return { server_id: cluster.authId, hostname: nodename, services: ["auth"], version: ownVersion, upgrader: "none", connected: true };
}

/** The proxy in the auth service's own process has a record even when disabled. */
function proxyInstance({ proxies, cluster }: Context, { metadata, spec }: Node): Instance | undefined {
  const { name } = metadata;
  const connected = proxies.isConnected(name);
  if (name === cluster.proxyId && !connected) return undefined;
  return { server_id: name, hostname: spec.hostname, services: ["proxy"], version: withoutV(spec.version), upgrader: "none", connected };
}

interface NodeFacts {
  readonly refused: readonly string[] | undefined;
  readonly groups: readonly RolloutGroup[];
}

function nodeInstance(context: Context, { metadata, spec }: Node, { refused, groups }: NodeFacts): Instance {
  const live = context.live.get(metadata.name);
  const status = live?.status;
  const wanted = wantedVersion(context, status?.channel);
  const group = groupOf(groups, metadata.labels ?? {})?.name;
  return {
    server_id: metadata.name,
    hostname: spec.hostname,
    services: spec.services,
    version: withoutV(spec.version),
    upgrader: status?.upgrader ?? "unknown",
    connected: live?.connected ?? false,
    ...(live !== undefined && { since: live.since.toISOString() }),
    ...(live?.connected === true && live.isDialled !== true && { proxies: [...live.proxies] }),
    ...(wanted !== undefined && { wanted }),
    ...(group !== undefined && { group }),
    ...(refused !== undefined && { refused_names: [...refused] }),
    ...(status !== undefined && { status }),
  };
}

/** The version of the host's channel; until a proxy has reported, the cluster's own version. */
function wantedVersion({ channels }: Context, channel = "default"): string | undefined {
  const answer = channels.answer(channel) ?? channels.answer("default");
  if (answer === undefined) return ownVersion;
  return answer.version === "none" ? undefined : withoutV(answer.version);
}

function withoutV(version: string): string {
  return version.replace(/^v/, "");
}

/** A filter for the inventory; an empty text or list matches all. */
interface InventoryFilter {
  readonly upgrader: string;
  readonly services: readonly string[];
  readonly olderThan: string;
  readonly newerThan: string;
  readonly exactVersion: string;
}

/** Whether an instance matches. Throws `invalid` for a malformed filter. */
export function instanceMatcher(filter: InventoryFilter): (instance: Instance) => boolean {
  const { upgrader, services } = filter;
  if (upgrader !== "" && !instanceUpgraders.some((one) => one === upgrader)) {
    throw new PlatformError("invalid", `unknown upgrader ${JSON.stringify(upgrader.slice(0, 64))}`, {
      hint: `upgraders are ${instanceUpgraders.join(", ")}`,
    });
  }
  const older = bound(filter.olderThan);
  const newer = bound(filter.newerThan);
  const exact = bound(filter.exactVersion);
  const wanted = new Set(services.map((name) => inventoryName(name.toLowerCase())));
  return (instance) => {
    if (upgrader !== "" && instance.upgrader !== upgrader) return false;
    if (wanted.size > 0 && !instance.services.some((name) => wanted.has(inventoryName(name)))) return false;
    const version = parseVersion(instance.version)?.text;
    // A malformed version is neither older nor newer.
    if (version === undefined) return older === undefined && newer === undefined && exact === undefined;
    if (older !== undefined && compareVersions(version, older) >= 0) return false;
    if (newer !== undefined && compareVersions(version, newer) <= 0) return false;
    return exact === undefined || version === exact;
  };
}

function bound(text: string): string | undefined {
  if (text === "") return undefined;
  const version = parseVersion(text);
  if (version !== undefined) return version.text;
  throw new PlatformError("invalid", `${JSON.stringify(text.slice(0, 64))} is not a version`, { hint: "write it like 1.2.3" });
}
