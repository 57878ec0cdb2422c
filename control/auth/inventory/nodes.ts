import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { DirectHost } from "../../../core/resources/directory-host.ts";
import { readDocument } from "../../../core/resources/document.ts";
import { type HostStatus, hostStatusDocument } from "../../../core/resources/host-status.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import { type Node, nodeSchema } from "../../../core/resources/node.ts";
import type { Entry, Write } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Actor, checkDocument, documentKey, fromEntry, named, type PutMode, toPut } from "../document.ts";
import { clusterProxyKey } from "./cluster-proxies.ts";
import { directHostDeletes, keepDirectHost } from "./direct-hosts.ts";
import {
  findHost,
  hostWrite,
  nodeNamesKey,
  nodeServicesKey,
  offerLimitsKey,
  proxyNamesKey,
  removal,
  removedError,
  removedKey,
} from "./host-records.ts";
import type { TunnelEnding } from "./live-nodes.ts";
import { presenceKey } from "./presence-watch.ts";
import { upgradeEvent, upgradeMemorySchema } from "./upgrade-event.ts";

/** Hosts that joined as nodes, with their live state. */
export async function listNodes(context: Pick<AuthContext, "storage" | "live">): Promise<readonly Node[]> {
  return (await context.storage.list("/node/")).map((entry) => fromNodeEntry(context, entry));
}

export function fromNodeEntry(context: Pick<AuthContext, "live">, entry: Entry): Node {
  return withLive(context, fromEntry(nodeSchema, entry));
}

export async function getNode(context: AuthContext, id: string): Promise<Node> {
  const node = await findHost(context.storage, "node", id);
  if (node === undefined) throw new PlatformError("not_found", `node ${id} does not exist`);
  return withLive(context, node);
}

/**
 * Changes a node's record, or creates it again from an export: a host whose record was removed has access again if its
 * certificate is still valid. Labels last until the host reports others.
 */
export async function putNode(context: AuthContext, node: Node, how: PutMode & { actor: Actor }): Promise<Node> {
  const id = node.metadata.name;
  if (!z.uuid().safeParse(id).success) throw new PlatformError("invalid", `node ${id}: metadata.name must be the id of a host, a UUID`);
  await named(`node ${id}`, context.storage.batch([toPut(node, how), { key: removedKey(id) }]));
  context.audit.emit({ event: "node.updated", user: how.actor.name, name: id, "addr.remote": how.actor.address });
  return await getNode(context, id);
}

/** Ends a host's access: its renewals and reports are refused and proxies end its tunnels. Also accepts a proxy's id. */
export async function deleteNode(context: AuthContext, id: string, actor: Actor): Promise<void> {
  const isProxy = (await findHost(context.storage, "node", id)) === undefined && (await findHost(context.storage, "proxy", id)) !== undefined;
  const key = documentKey(isProxy ? "proxy" : "node", id);
  const direct = await directHostDeletes(context.storage, id);
  const writes: Write[] = [
    { key, expect: "present" },
    removal(id, context.now()),
    { key: presenceKey(id) },
    { key: upgradeMemoryKey(id) },
    ...direct,
  ];
  if (isProxy) writes.push({ key: proxyNamesKey(id) }, { key: clusterProxyKey(id) });
  else writes.push({ key: nodeNamesKey(id) }, { key: nodeServicesKey(id) }, { key: offerLimitsKey(id) });
  await named(`node ${id}`, context.storage.batch(writes));
  context.live.forget(id);
  context.offered.forget(id);
  context.presence.forget(id);
  context.proxies.forget(id);
  context.channels.forget(id);
  context.proxyReports.forget(id);
  context.audit.emit({ event: "node.deleted", user: actor.name, name: id, "addr.remote": actor.address });
}

export interface NodeReport {
  readonly hostId: string;
  readonly hostname: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly services: readonly string[];
  readonly version: string;
  readonly connected: boolean;
  readonly address: string;
  /** Why it is not connected. */
  readonly ending?: TunnelEnding | undefined;
  /** Id of the reporting proxy. */
  readonly proxy: string;
  /** Names in the host's certificate; left out: an older proxy reported none. */
  readonly names?: readonly string[];
  /** The host's report about itself, JSON; empty or left out: none. */
  readonly statusJson?: string;
  /** Addresses of a host that proxies dial; left out: it uses a tunnel. */
  readonly direct?: Pick<DirectHost, "names" | "addresses" | "shared" | "services"> | undefined;
}

/**
 * Processes a proxy's report that a tunnel came up, changed or went down, or a dialled host's report about itself. Throws `denied` for a removed
 * host.
 */
export async function reportNode(context: AuthContext, report: NodeReport): Promise<void> {
  const known = await findHost(context.storage, "node", report.hostId);
  if (known === undefined) throw removedError(report.hostId);
  // On a nearly full disk the record is not changed: a host that can change its labels at will must not fill it.
  if (report.connected && !context.room.isLow) {
    await updateRecord(context, known, report);
    await keepDirect(context, report);
  }
  const { connected, address, proxy, ending, hostname, version } = report;
  const status = statusOf(context, report) ?? (connected ? undefined : context.live.get(report.hostId)?.status);
  const isDialled = report.direct !== undefined;
  const names = [...new Set([report.hostname, ...(report.names ?? [])])];
  context.live.report(report.hostId, { connected, address, isDialled, proxy, ending, hostname, version, status, names }, context.now());
  if (connected) context.offered.keepServices(report.hostId, report.services);
  if (!connected || status === undefined) return;
  const host = { id: report.hostId, hostname: report.hostname, version: report.version, status };
  await auditUpgrades(context, host).catch((error: unknown) => context.log.error("could not audit an upgrade", { host: host.id, error }));
}

async function keepDirect({ storage }: AuthContext, { hostId: id, hostname, labels, direct }: NodeReport): Promise<void> {
  if (direct !== undefined) return await keepDirectHost(storage, { id, hostname, labels, ...direct });
  const deletes = await directHostDeletes(storage, id);
  if (deletes.length > 0) await storage.batch(deletes);
}

/** An unreadable status comes from a proxy of another version: the host counts as connected nevertheless. */
function statusOf({ log }: AuthContext, { hostId, statusJson = "" }: NodeReport): HostStatus | undefined {
  if (statusJson === "") return undefined;
  try {
    return readDocument(hostStatusDocument, statusJson);
  } catch (error) {
    log.debug("could not read a host's status", { host: hostId, error });
    return undefined;
  }
}

/** Maximum size of a host's labels, keys and values, characters: 64 commands and as many words fill a third of it. */
const maxLabels = 65_536;

/** Throws `limit`. */
export function checkLabels(labels: Labels): void {
  const size = Object.entries(labels).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (size > maxLabels) throw new PlatformError("limit", `the labels of this host have ${size} characters; the maximum is ${maxLabels}`);
}

async function updateRecord(context: AuthContext, known: Node, report: NodeReport): Promise<void> {
  checkLabels(report.labels);
  const next = checkDocument(nodeSchema, {
    ...known,
    metadata: { ...known.metadata, labels: report.labels },
    spec: { hostname: report.hostname, services: report.services, version: report.version },
  });
  if (canonical(next) === canonical(known)) return;
  try {
    await context.storage.put(hostWrite("node", next, { revision: known.metadata.revision ?? "" }));
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
    // Removed or changed meanwhile: the proxy's next report decides, and a removed host must not come back.
    if ((await findHost(context.storage, "node", report.hostId)) === undefined) throw removedError(report.hostId);
  }
}

function canonical({ metadata, spec }: Node): string {
  const labels = Object.entries(metadata.labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([labels, spec.hostname, spec.services, spec.version]);
}

function withLive(context: Pick<AuthContext, "live">, node: Node): Node {
  const live = context.live.get(node.metadata.name);
  if (live === undefined) return { ...node, status: { connected: false } };
  const { connected, since, status: host, isDialled, address, proxies } = live;
  const way = isDialled ? { addr: address } : connected ? { proxies: [...proxies] } : {};
  const status = { connected, since: since.toISOString(), ...(host !== undefined && { host }), ...way };
  return { ...node, status };
}

/** Durable memory of one host's audited upgrades: JSON of `UpgradeMemory`. */
function upgradeMemoryKey(id: string): string {
  return `/upgrade-audited/${id}`;
}

type Context = Pick<AuthContext, "storage" | "audit" | "queues">;

/**
 * Audits the upgrades in a host's report. The event is durable before it is remembered: after a crash in between it is recorded
 * twice rather than never. Reports of one host are processed in order.
 */
async function auditUpgrades(context: Context, host: { id: string; hostname: string; version: string; status: HostStatus }): Promise<void> {
  const { id, hostname, version, status } = host;
  const key = upgradeMemoryKey(id);
  await context.queues(key, async () => {
    const stored = await context.storage.get(key);
    const before = stored === undefined ? undefined : upgradeMemorySchema.safeParse(JSON.parse(stored.value)).data;
    const { event, memory } = upgradeEvent(before, { version, status });
    if (event !== undefined) context.audit.emit({ ...event, server_id: id, server_name: hostname });
    const value = JSON.stringify(memory);
    if (value !== stored?.value) await context.storage.put({ key, value });
  });
}
