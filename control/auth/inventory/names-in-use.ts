import { z } from "zod";
import { nodeSchema } from "../../../core/resources/node.ts";
import type { HostRole } from "../../../core/resources/token.ts";
import type { Put, Storage } from "../../storage/storage.ts";
import { fromEntry } from "../documents/document.ts";
import type { OtherNames } from "../tokens/host-names.ts";
import { opensshPrefix } from "./openssh-nodes.ts";

const namesSchema = z.array(z.string());
const prefix = "/proxy-names/";
/** Every proxy has these in its certificates, and they are nobody's. */
const ownOfAll: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"]);

/** What a proxy announced as its public names: no node gets one of them. Its host name is not among them, which nodes of that host share. */
export function proxyNamesWrite(id: string, facts: { hostname: string; names: readonly string[] }): Put {
  const names = [...new Set(facts.names.map((name) => name.toLowerCase()))];
  const announced = names.filter((name) => !ownOfAll.has(name) && name !== facts.hostname.toLowerCase());
  return { key: proxyNamesKey(id), value: JSON.stringify(announced) };
}

export function proxyNamesKey(id: string): string {
  return `${prefix}${id}`;
}

/** What hosts other than this one are called. A proxy keeps what it announced before, whatever a node is called since. */
export async function otherNames(storage: Storage, self: { role: HostRole; id: string; cluster: string }): Promise<OtherNames> {
  const announced = await storage.list(prefix);
  const proxies = announced.flatMap(({ value }) => namesSchema.parse(JSON.parse(value)));
  const mine = announced.find(({ key }) => key === proxyNamesKey(self.id));
  const kept = new Set(mine === undefined ? [] : namesSchema.parse(JSON.parse(mine.value)));
  const entries = [...(await storage.list("/node/")), ...(await storage.list(opensshPrefix))];
  const nodes = entries.map((entry) => fromEntry(nodeSchema, entry));
  const cluster = self.cluster.toLowerCase();
  const taken = nodes
    .filter(({ metadata }) => metadata.name !== self.id)
    .map(({ spec }) => spec.hostname.toLowerCase())
    .flatMap((name) => [name, `${name}.${cluster}`])
    .filter((name) => !kept.has(name));
  return { proxies: new Set(proxies), nodes: new Set(taken) };
}
