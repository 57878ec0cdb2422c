import { createHash } from "node:crypto";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { serviceKinds, serviceNames } from "../../../core/kinds/service-kinds.ts";
import { parseJson } from "../../../core/resources/document.ts";
import type { AuthContext } from "../auth-context.ts";
import { authorityPrefix } from "../authority/key-ring.ts";
import { clusterProxiesPrefix, proxiesRevision } from "../inventory/cluster-proxies.ts";
import { opensshPrefix, removedHosts } from "../inventory/host-records.ts";
import { findMaintenance, maintenancePrefix } from "../rollout/maintenance.ts";
import { locksPrefix } from "./locks.ts";
import { resourceChanged, resourcePrefixes, resourcesRevision } from "./resources-revision.ts";

export interface AccessState {
  /** Changes whenever a role, a lock, an authority, the recording mode or the list of removed hosts changes, and only then. */
  readonly revision: string;
  readonly roles: readonly string[];
  readonly locks: readonly string[];
  /** Nodes without an agent. */
  readonly opensshNodes: readonly string[];
  readonly removedHosts: readonly string[];
  /** Revision of the maintenance configuration, which does not affect access but reaches agents the same way; empty: there is none. */
  readonly maintenanceRevision: string;
  /** Revision of the list of proxies, to each of which agents keep a tunnel. */
  readonly proxiesRevision: string;
}

type Facts = Pick<AuthContext, "storage" | "authorities" | "sessionRecording">;

/** The current facts that decide about access. */
export async function accessState(context: Facts): Promise<AccessState> {
  const roles = await context.storage.list("/role/");
  const locks = await context.storage.list(locksPrefix);
  const openssh = await context.storage.list(opensshPrefix);
  const removed = await removedHosts(context.storage);
  // Another process may have taken a step of a rotation.
  await context.authorities.refresh();
  const versions = [...roles, ...locks, ...openssh].map(({ key, revision }) => [key, revision]);
  const authorities = context.authorities.all.map(({ trusted }) => trusted.map(({ sshPublicLine, pin }) => [sshPublicLine, pin]));
  const facts = [versions, authorities, removed, context.sessionRecording];
  const revision = createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 32);
  const maintenanceRevision = (await findMaintenance(context.storage))?.metadata.revision ?? "";
  const values = { roles: roles.map(({ value }) => value), locks: locks.map(({ value }) => value), opensshNodes: openssh.map(({ value }) => value) };
  const revisions = { revision, maintenanceRevision, proxiesRevision: await proxiesRevision(context.storage) };
  return { ...revisions, ...values, removedHosts: removed };
}

export interface WatchedState extends AccessState {
  /** Revision of the resources that agents offer, which does not affect access either. */
  readonly resourcesRevision: string;
}

/** Yields the state at once and after every change. Ends when the signal aborts; throws `limit` for a reader that is too slow. */
export async function* watchAccess(context: Facts, signal: AbortSignal): AsyncGenerator<WatchedState> {
  const changes = context.storage.watch(
    ["/role/", locksPrefix, "/removed/", authorityPrefix, opensshPrefix, maintenancePrefix, clusterProxiesPrefix, ...resourcePrefixes],
    signal,
  );
  let sent: WatchedState = { ...(await accessState(context)), resourcesRevision: await resourcesRevision(context.storage) };
  yield sent;
  for await (const change of changes) {
    const next = resourceChanged(sent.resourcesRevision, change);
    const resources = next ?? sent.resourcesRevision;
    const state: WatchedState = { ...(next === undefined ? await accessState(context) : sent), resourcesRevision: resources };
    if (revisionsOf(state) === revisionsOf(sent)) continue;
    sent = state;
    yield sent;
  }
  if (!signal.aborted) throw new PlatformError("unavailable", "the auth service is stopping");
}

function revisionsOf({ revision, maintenanceRevision, proxiesRevision, resourcesRevision: resources }: WatchedState): string {
  return JSON.stringify([revision, maintenanceRevision, proxiesRevision, resources]);
}

/**
 * Roles (JSON) without the conditions and options of kinds that the caller does not know: an older caller would refuse a role with unknown
 * fields, and every user with that role. They do not affect such a caller's decisions. Without kinds: the previous version, ssh alone. Pure.
 */
export function rolesForKinds(rolesJson: readonly string[], kinds: readonly string[]): readonly string[] {
  const known = kinds.length === 0 ? ["ssh"] : kinds;
  const strange = new Set(serviceNames.filter((kind) => !known.includes(kind)).flatMap(fieldsOf));
  if (strange.size === 0) return rolesJson;
  return rolesJson.map((json) => {
    if (![...strange].some((field) => json.includes(field))) return json;
    const role = parseJson(json, "a role") as { spec?: Readonly<Record<string, object>> };
    const without = (part: object) => Object.fromEntries(Object.entries(part).filter(([name]) => !strange.has(name)));
    const spec = Object.entries(role.spec ?? {}).map(([part, fields]) => [part, roleParts.has(part) ? without(fields) : fields]);
    return JSON.stringify({ ...role, spec: Object.fromEntries(spec) });
  });
}

const roleParts = new Set(["options", "allow", "deny"]);

/** Fields of a role that matter for this kind alone. */
function fieldsOf(kind: (typeof serviceNames)[number]): readonly string[] {
  const row = serviceKinds[kind];
  const conditions = Object.values<{ condition: string }>(row.names).map(({ condition }) => condition);
  return [row.labels, ...conditions, ...("options" in row ? row.options : [])];
}
