import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type Node, nodeSchema } from "../../../core/resources/node.ts";
import type { HostRole } from "../../../core/resources/token.ts";
import type { Put, Storage, Write } from "../../storage/storage.ts";
import { hostValidityMs } from "../authority/issue-host.ts";
import { documentKey, fromEntry } from "../documents/document.ts";

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
