import { jsonOf, listOf, objectOf, textOf } from "../../../updater/kube/cluster/json-value.ts";
import { versionOfImage } from "../../../updater/kube/images/image-reference.ts";
import type { RelayedRequest } from "./api-relay.ts";

/**
 * What a request of the updater does: `read`, `create the lease`, `update the lease`, `set 1.1.0` (with the memory of it, in one patch), `remember` (the memory
 * alone), `report` (the result alone), `delete a pod`, `record an Event`. Pure.
 */
export function updaterStep({ method, path, body }: RelayedRequest): string {
  if (method === "GET") return "read";
  if (path.includes("/leases")) return method === "POST" ? "create the lease" : "update the lease";
  if (path.endsWith("/events")) return "record an Event";
  if (method === "DELETE") return "delete a pod";
  const changes = listOf(jsonOf(body)).map(objectOf);
  const image = changes.find(({ op }) => op === "replace");
  if (image !== undefined) return `set ${versionOfImage(textOf(image.value))}`;
  return changes.some(({ op, path: place }) => op === "add" && textOf(place).endsWith("~1update-state")) ? "remember" : "report";
}
