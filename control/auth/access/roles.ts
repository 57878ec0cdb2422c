import { unreadableParts } from "../../../core/access/unreadable-parts.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type Role, roleSchema } from "../../../core/resources/role.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Actor, type Document, documentKey, fromEntry, named, type PutMode, toPut } from "../document.ts";
import { listUsers } from "../users/users.ts";
import { readRole, storedDocument, unknownResources, unreadableHint, unreadableText } from "./stored-role.ts";

/** All roles as they are stored, for admins: also those that this version cannot read. */
export async function listRoles(storage: Storage): Promise<readonly Document[]> {
  return (await storage.list("/role/")).map(storedDocument);
}

export async function getRole(storage: Storage, name: string): Promise<Document> {
  const entry = await storage.get(documentKey("role", name));
  if (entry === undefined) throw new PlatformError("not_found", `role ${name} does not exist`);
  return storedDocument(entry);
}

/** The roles of these names, as far as they exist. Throws `denied` for one that this version cannot read: it may hold the rule that denies. */
export async function rolesNamed(storage: Storage, names: readonly string[]): Promise<readonly Role[]> {
  const entries = await Promise.all([...new Set(names)].map((name) => storage.get(documentKey("role", name))));
  return entries.flatMap((entry) => {
    if (entry === undefined) return [];
    const read = readRole(entry);
    if ("role" in read) return [read.role];
    throw new PlatformError("denied", `access denied: ${unreadableText(read)}`, { hint: unreadableHint });
  });
}

export async function putRole(context: AuthContext, role: Role, how: PutMode & { actor: Actor }): Promise<Role> {
  const name = role.metadata.name;
  const problems = [...unreadableParts(role), ...unknownResources(role)];
  if (problems.length > 0) throw new PlatformError("invalid", problems.slice(0, 8).join("; "));
  const existed = (await context.storage.get(documentKey("role", name))) !== undefined;
  const entry = await named(`role ${name}`, context.storage.put(toPut(role, how)));
  context.audit.emit({
    event: existed ? "role.updated" : "role.created",
    user: how.actor.name,
    name,
    "addr.remote": how.actor.address,
  });
  return fromEntry(roleSchema, entry);
}

/** Throws `conflict` while users have the role. */
export async function deleteRole(context: AuthContext, name: string, actor: Actor): Promise<void> {
  const holders = (await listUsers(context)).filter((user) => user.spec.roles.includes(name)).map((user) => user.metadata.name);
  if (holders.length > 0) {
    const some = holders.slice(0, 5).join(", ");
    const more = holders.length > 5 ? ` and ${holders.length - 5} more` : "";
    throw new PlatformError("conflict", `role ${name} is in use by ${some}${more}`, { hint: "give these users other roles first" });
  }
  if (!(await context.storage.delete(documentKey("role", name)))) throw new PlatformError("not_found", `role ${name} does not exist`);
  context.audit.emit({ event: "role.deleted", user: actor.name, name, "addr.remote": actor.address });
}

/** The roles of a new cluster. */
export const presets: readonly Role[] = [
  preset("access", "Reach every host with the user's own logins", {
    logins: ["{{internal.logins}}"],
    node_labels: { "*": "*" },
  }),
  preset("editor", "Change users, roles, tokens, nodes, locks, the maintenance window and the staged roll-out; no shell", {
    rules: [
      { resources: ["role", "user", "token", "node", "lock", "cluster_maintenance_config", "upgrade_rollout"], verbs: ["*"] },
      { resources: ["event"], verbs: ["list", "read"] },
    ],
  }),
  preset("auditor", "Read the audit log and the recordings of sessions", {
    rules: [{ resources: ["event", "session"], verbs: ["list", "read"] }],
  }),
];

const madeKey = "/cluster/presets";

/** Creates the presets once in a cluster's life: an admin's change or removal stays. */
export async function createPresets(storage: Storage): Promise<void> {
  const marks = presets.map((role) => toPut(role, { overwrite: true, mustExist: false }));
  try {
    await storage.batch([{ key: madeKey, value: "{}", expect: "absent" }, ...marks]);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "already_exists") throw thrown;
  }
}

function preset(name: string, description: string, allow: Role["spec"]["allow"]): Role {
  return {
    kind: "role",
    version: "v7",
    metadata: { name, description },
    spec: { options: { max_session_ttl: "30h" }, allow },
  };
}
