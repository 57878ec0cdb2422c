import type { ServedKind } from "../kinds/service-kinds.ts";
import type { Labels } from "../resources/metadata.ts";
import type { ServedAsk } from "./ask.ts";

/** A resource that agents offer with these labels. */
export interface OfferedPlace {
  readonly name: string;
  readonly labels: Labels;
  readonly details: Readonly<Record<string, string>>;
  readonly hosts: readonly { readonly id: string }[];
}

/** Names at the resource, and what is done there; omitted ones are any. */
export interface OfferedUse {
  readonly dbUser?: string | undefined;
  readonly dbName?: string | undefined;
  /** At a Kubernetes cluster. */
  readonly request?: ServedAsk["request"] | undefined;
}

/** Use of an offered resource: one for each host that offers it, as a lock may be of a host. Pure. */
export function offeredAsks(kind: ServedKind, place: OfferedPlace, { dbUser, dbName, request }: OfferedUse): readonly ServedAsk[] {
  const { name, labels, details, hosts } = place;
  const names = { ...(dbUser !== undefined && { user: dbUser }), ...(dbName !== undefined && { name: dbName }) };
  return hosts.map(({ id }): ServedAsk => {
    const ask = { kind, served: { name, labels }, serverId: id };
    if (kind === "kube") return { ...ask, ...(request !== undefined && { request }) };
    return kind === "db" ? { ...ask, names, makesAccounts: details.admin_user !== undefined } : ask;
  });
}
