import { z } from "zod";
import { type ServiceKind, serviceNames } from "../../../core/kinds/service-kinds.ts";
import type { Put, Storage } from "../../storage/storage.ts";

const prefix = "/node-services/";
const servicesSchema = z.array(z.string());
/** Services of a host that joined before tokens named services. */
const before: readonly ServiceKind[] = ["ssh"];

/** Services that a host may offer: those of its join token. */
export function nodeServicesWrite(id: string, services: readonly ServiceKind[]): Put {
  return { key: nodeServicesKey(id), value: JSON.stringify(services) };
}

export function nodeServicesKey(id: string): string {
  return prefix + encodeURIComponent(id);
}

export async function allowedServices(storage: Storage, id: string): Promise<readonly ServiceKind[]> {
  const entry = await storage.get(nodeServicesKey(id));
  if (entry === undefined) return before;
  const names = servicesSchema.parse(JSON.parse(entry.value));
  return serviceNames.filter((kind) => names.includes(kind));
}
