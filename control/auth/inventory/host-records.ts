import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type ServiceKind, serviceNames } from "../../../core/kinds/service-kinds.ts";
import { type Node, nodeSchema } from "../../../core/resources/node.ts";
import { type HostRole, type OfferLimits, offerLimitsSchema } from "../../../core/resources/token.ts";
import type { Put, Storage, Write } from "../../storage/storage.ts";
import { hostValidityMs } from "../authority/issue-certificates.ts";
import { documentKey, fromEntry } from "../document.ts";

/* What is stored about a host as long as it is part of the cluster: its record, its names and services, and the names that a proxy announced. */

/**
 * A host's durable record: `/node/<id>` or `/proxy/<id>`. A host without one has no access, regardless of its certificate.
 * `/removed/<id>` makes proxies end its tunnels, as long as a certificate may still be valid.
 */
export function hostWrite(role: "node" | "proxy", node: Node, expect?: Write["expect"]): Put {
  const { revision: _, ...metadata } = node.metadata;
  return { key: documentKey(role, metadata.name), value: JSON.stringify({ ...node, metadata, status: undefined }), expect };
}

export async function findHost(storage: Storage, role: "node" | "proxy", id: string): Promise<Node | undefined> {
  const entry = await storage.get(documentKey(role, id));
  return entry === undefined ? undefined : fromEntry(nodeSchema, entry);
}

export async function hostsOf(storage: Storage, role: "node" | "proxy"): Promise<readonly { readonly id: string; readonly name: string }[]> {
  const nodes = (await storage.list(documentKey(role, ""))).map((entry) => fromEntry(nodeSchema, entry));
  return nodes.map(({ metadata, spec }) => ({ id: metadata.name, name: spec.hostname }));
}

/** Throws `denied` for a host that was removed. The auth service itself has no record. */
export async function requireHost(storage: Storage, role: HostRole, id: string): Promise<void> {
  if (role === "auth") return;
  if ((await findHost(storage, role, id)) === undefined) throw removedError(id);
}

/** Prefix of the storage keys of hosts without an agent: code for agents does not see them. */
export const opensshPrefix = "/openssh_node/";

export function removedError(id: string): PlatformError {
  return new PlatformError("denied", `host ${id} was removed from the cluster`, { hint: "let it join again with a token" });
}

export function removedKey(id: string): string {
  return `/removed/${id}`;
}

export function removal(id: string, now: Date): Put {
  const expires = new Date(now.getTime() + hostValidityMs + 24 * 3_600_000);
  return { key: removedKey(id), value: JSON.stringify(now.toISOString()), expires };
}

export async function removedHosts(storage: Storage): Promise<readonly string[]> {
  return (await storage.list("/removed/")).map(({ key }) => key.slice("/removed/".length));
}

/** Updates a proxy's record with the version that it reports at each connection. */
export async function keepProxyVersion(storage: Storage, id: string, version: string): Promise<void> {
  const known = await findHost(storage, "proxy", id);
  if (known === undefined || version === "" || version.length > 64 || known.spec.version === version) return;
  try {
    await storage.put(hostWrite("proxy", { ...known, spec: { ...known.spec, version } }, { revision: known.metadata.revision ?? "" }));
  } catch (thrown) {
    // Removed or changed meanwhile: the next connection reports it again.
    if (!(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
  }
}

/** Prefix of the storage keys of the names in nodes' certificates. */
export const nodeNamesPrefix = "/node-names/";

/** Names in a node's certificate, and why it did not get others that it requested. */
const nodeNamesSchema = z.object({ names: z.array(z.string()), refused: z.array(z.string()).default([]) });
type NodeNames = z.infer<typeof nodeNamesSchema>;

export function nodeNamesWrite(id: string, names: NodeNames): Put {
  return { key: nodeNamesKey(id), value: JSON.stringify(names) };
}

export function nodeNamesKey(id: string): string {
  return `${nodeNamesPrefix}${id}`;
}

/** Parses a stored value. */
export function readNodeNames(value: string): NodeNames {
  return nodeNamesSchema.parse(JSON.parse(value));
}

const servicesSchema = z.array(z.string());
/** Services of a host that joined before tokens named services. */
const servicesBefore: readonly ServiceKind[] = ["ssh"];

/** Services that a host may offer: those of its join token. */
export function nodeServicesWrite(id: string, services: readonly ServiceKind[]): Put {
  return { key: nodeServicesKey(id), value: JSON.stringify(services) };
}

export function nodeServicesKey(id: string): string {
  return `/node-services/${encodeURIComponent(id)}`;
}

export async function allowedServices(storage: Storage, id: string): Promise<readonly ServiceKind[]> {
  const entry = await storage.get(nodeServicesKey(id));
  if (entry === undefined) return servicesBefore;
  const names = servicesSchema.parse(JSON.parse(entry.value));
  return serviceNames.filter((kind) => names.includes(kind));
}

/** The resources that a host may offer, as its join token says. */
export function offerLimitsWrite(id: string, limits: OfferLimits): Put {
  return { key: offerLimitsKey(id), value: JSON.stringify(limits) };
}

export function offerLimitsKey(id: string): string {
  return `/node-resources/${encodeURIComponent(id)}`;
}

export async function offerLimits(storage: Storage, id: string): Promise<OfferLimits> {
  const entry = await storage.get(offerLimitsKey(id));
  return entry === undefined ? {} : offerLimitsSchema.parse(JSON.parse(entry.value));
}

/** Prefix of the storage keys of the names that proxies announced. */
export const proxyNamesPrefix = "/proxy-names/";
const proxyNamesSchema = z.array(z.string());
/** Every proxy has these in its certificates; they belong to no host. */
const ownOfAll: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"]);

/** Public names announced by a proxy: no node gets one of them. Its host name is not among them, since a node on that host shares it. */
export function proxyNamesWrite(id: string, facts: { hostname: string; names: readonly string[] }): Put {
  const names = [...new Set(facts.names.map((name) => name.toLowerCase()))];
  const announced = names.filter((name) => !ownOfAll.has(name) && name !== facts.hostname.toLowerCase());
  return { key: proxyNamesKey(id), value: JSON.stringify(announced) };
}

export function proxyNamesKey(id: string): string {
  return `${proxyNamesPrefix}${id}`;
}

/** Parses a stored value. */
export function readProxyNames(value: string): readonly string[] {
  return proxyNamesSchema.parse(JSON.parse(value));
}
