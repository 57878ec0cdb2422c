import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HostRouteSchema, HostsEventSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HostIdentity } from "../../../core/identity/identity.ts";
import { directKinds } from "../../../core/kinds/service-kinds.ts";
import type { DirectHost } from "../../../core/resources/directory-host.ts";
import { type Node, nodeSchema } from "../../../core/resources/node.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import type { ClusterProxy } from "../../../core/resources/proxy.ts";
import type { AuthContext } from "../auth-context.ts";
import { documentKey, fromEntry } from "../document.ts";
import { listProxies } from "./cluster-proxies.ts";
import { awaySince } from "./find-hosts.ts";
import { HostChanges } from "./host-changes.ts";
import { requireHost } from "./host-records.ts";
import type { LiveNode } from "./live-nodes.ts";

/** Maximum number of hosts kept for one proxy; it asks for each target while there are more. */
export const maxRoutes = 20_000;
/** The same in bytes of JSON, without what they offer: that has a room of its own (`OfferRoom`). */
const maxBytes = 32 * 1_048_576;
/** Hosts in one event, and their bytes. */
const atOnce = { hosts: 500, bytes: 524_288 };
/** Interval of events without a change, ms: a proxy that receives none for three of them no longer trusts its answer. */
export const keepAliveMs = 10_000;

type Context = Pick<AuthContext, "storage" | "live" | "offered" | "offerRoom" | "presence" | "names" | "clusterName">;
type Proxy = Pick<HostIdentity, "id" | "role">;
type HostsEvent = MessageInitShape<typeof HostsEventSchema>;

/**
 * The ways from a proxy to the hosts that it does not find by itself: first all of them, then the changes. Ends when the signal aborts; throws
 * `limit` when there are too many, `unavailable` when changes were lost, `denied` once the proxy itself was removed.
 */
export async function* watchHosts(context: Context, { id: proxy, role }: Proxy, signal: AbortSignal): AsyncGenerator<HostsEvent> {
  using changes = await HostChanges.open(context, signal);
  const sent = new Sent();
  let isComplete = false;
  while (!signal.aborted) {
    const event = await nextEvent(context, { changes, sent, proxy });
    await requireHost(context.storage, role, proxy);
    const isAll = changes.size === 0;
    const isEmpty = event.changed.length === 0 && event.gone.length === 0;
    if (!isEmpty || (isAll && !isComplete)) yield { ...event, complete: isAll || isComplete };
    isComplete ||= isAll;
    if (!isAll) await nextTurn();
    else if (!(await changes.arrive(keepAliveMs)) && !signal.aborted) yield { complete: true };
  }
}

/** Digests of what the proxy has, so that nothing is sent twice. */
class Sent {
  readonly #hosts = new Map<string, { readonly digest: string; readonly bytes: number }>();
  #bytes = 0;

  /** Whether the proxy has something else; `bytes` count. Throws `limit`. */
  put(id: string, json: string, bytes: number): boolean {
    const digest = createHash("sha256").update(json).digest("base64").slice(0, 22);
    if (this.#hosts.get(id)?.digest === digest) return false;
    this.delete(id);
    this.#hosts.set(id, { digest, bytes });
    this.#bytes += bytes;
    if (this.#hosts.size <= maxRoutes && this.#bytes <= maxBytes) return true;
    throw new PlatformError("limit", `more than ${maxRoutes} hosts, or ${maxBytes} bytes of them, have no tunnel to this proxy`);
  }

  delete(id: string): boolean {
    this.#bytes -= this.#hosts.get(id)?.bytes ?? 0;
    return this.#hosts.delete(id);
  }
}

interface Batch {
  readonly changes: HostChanges;
  readonly sent: Sent;
  readonly proxy: string;
}

async function nextEvent(context: Context, { changes, sent, proxy }: Batch): Promise<{ changed: HostRoute[]; gone: string[] }> {
  const event = { changed: [] as HostRoute[], gone: [] as string[] };
  let proxies: readonly ClusterProxy[] | undefined;
  for (let bytes = 0; event.changed.length + event.gone.length < atOnce.hosts && bytes < atOnce.bytes; ) {
    const [id] = changes.take(1);
    if (id === undefined) break;
    const live = context.live.get(id);
    const entry = isFoundByTunnel(live, proxy, changes.namesakes(id)) ? undefined : await context.storage.get(documentKey("node", id));
    if (entry === undefined) {
      if (sent.delete(id)) event.gone.push(id);
      continue;
    }
    const node = fromEntry(nodeSchema, entry);
    proxies ??= await listProxies(context.storage);
    const facts = { node, names: changes.namesOf(id), live, direct: changes.direct(id), since: awaySince(context, id)?.toISOString(), proxies };
    const route = hostRoute({ ...facts, offered: dialledOffers(context, id) }, proxy);
    const json = JSON.stringify(route);
    if (!sent.put(id, json, json.length - offersBytes(route))) continue;
    bytes += json.length;
    event.changed.push(route);
  }
  return event;
}

type HostRoute = MessageInitShape<typeof HostRouteSchema>;

export interface RouteFacts {
  readonly node: Node;
  /** Recorded names. */
  readonly names: readonly string[];
  readonly live: LiveNode | undefined;
  /** Its addresses, if proxies dial it. */
  readonly direct: DirectHost | undefined;
  /** Time since when it is disconnected, RFC 3339; undefined: unknown. */
  readonly since: string | undefined;
  readonly proxies: readonly ClusterProxy[];
  readonly offered: DialledOffers;
}

/** What a connected host offers to proxies that dial it. */
interface DialledOffers {
  readonly offered: readonly Offered[];
  /** Kinds whose resources its join token names. */
  readonly namedKinds: readonly string[];
}

function dialledOffers({ offered, offerRoom }: Pick<Context, "offered" | "offerRoom">, id: string): DialledOffers {
  const all = (offerRoom.isLeftOut(id) ? [] : offered.ofHost(id)).filter(({ kind }) => directKinds.some((one) => one === kind));
  return { offered: all, namedKinds: directKinds.filter((kind) => offered.isNamed(id, kind)) };
}

function offersBytes({ via }: HostRoute): number {
  return via?.case === "dial" ? JSON.stringify(via.value.offered).length : 0;
}

/** Whether a proxy finds the host by itself: by its tunnel, under names that no other host has. Pure. */
export function isFoundByTunnel(live: LiveNode | undefined, proxy: string, namesakes: readonly string[]): boolean {
  return live?.connected === true && live.isDialled !== true && live.proxies.includes(proxy) && namesakes.length === 0;
}

/** The way from a proxy to a host. Pure. */
export function hostRoute({ node, names, live, direct, since, proxies, offered: offers }: RouteFacts, proxy: string): HostRoute {
  const { hostname } = node.spec;
  const host = {
    id: node.metadata.name,
    hostname,
    labels: { ...node.metadata.labels },
    names: [...new Set([hostname, ...names, ...(direct?.names ?? []), ...(live?.names ?? [])])],
  };
  const hasTunnel = live?.connected === true && live.isDialled !== true;
  if (hasTunnel && !live.proxies.includes(proxy)) {
    const holding = live.proxies.map((id) => {
      const { name, addr } = proxies.find((one) => one.id === id) ?? { name: id, addr: "" };
      return { id, name, addr };
    });
    return { ...host, via: { case: "tunnel", value: { proxies: holding } } };
  }
  if (direct !== undefined && !hasTunnel) {
    const { addresses, shared, services = {} } = direct;
    const offered = offers.offered.map(({ kind, name, labels, details }) => ({ kind, name, labels: { ...labels }, details: { ...details } }));
    const serviceAddresses = Object.entries(services).map(([kind, own]) => ({ kind, addresses: [...own] }));
    const value = { addresses: [...addresses], shared: [...shared], offered, namedKinds: [...offers.namedKinds], serviceAddresses };
    return { ...host, via: { case: "dial", value } };
  }
  return { ...host, via: { case: "record", value: { since: live?.connected === true ? "" : (since ?? "") } } };
}
