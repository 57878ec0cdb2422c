import type { ServedAsk, SshAsk } from "../../../../core/access/ask.ts";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { isServedKind } from "../../../../core/kinds/service-kinds.ts";
import { documentKind, readDocument } from "../../../../core/resources/document.ts";
import { nodeDocument } from "../../../../core/resources/node.ts";
import { type Role, roleDocument } from "../../../../core/resources/role.ts";
import { type User, userSchema } from "../../../../core/resources/user.ts";

const userDocument = documentKind("resource", userSchema, { what: "the user" });
/** Maximum changes in an answer. */
export const mostChanges = 500;

/** Maximum resources that a preview compares. */
const most = 200;

/** Those that are stored. */
export interface StoredAccess {
  readonly roles: readonly Role[];
  readonly users: readonly User[];
}

/** All stored roles and users: it needs the rights to list them. Throws `denied`. */
export async function storedAccess(auth: Pick<AuthClient, "listResources">): Promise<StoredAccess> {
  const roles = await auth.listResources({ kind: "role" });
  const users = await auth.listResources({ kind: "user" });
  return {
    roles: roles.resources.map(({ json }) => readDocument(roleDocument, json)),
    users: users.resources.map(({ json }) => readDocument(userDocument, json)),
  };
}

export interface PreviewPlaces {
  readonly places: readonly (SshAsk | ServedAsk)[];
  /** There are more. */
  readonly isPartial: boolean;
}

/** The hosts and the offered resources that the caller may see, each without a name at it, for previews of what users could do there. */
export async function placesOf(auth: Pick<AuthClient, "listResources" | "listOffered">): Promise<PreviewPlaces> {
  const [nodes, offered] = await Promise.all([auth.listResources({ kind: "node", limit: most }), auth.listOffered({})]);
  const hosts = nodes.resources.map(({ json }) => hostAsk(json));
  const served = offered.resources.flatMap(servedAsk);
  // Each of the two has at least half of the room.
  const half = most / 2;
  const places = [...hosts.slice(0, most - Math.min(half, served.length)), ...served.slice(0, most - Math.min(half, hosts.length))];
  return { places, isPartial: nodes.cursor !== "" || places.length < hosts.length + served.length };
}

function hostAsk(json: string): SshAsk {
  const { metadata, spec } = readDocument(nodeDocument, json);
  return { kind: "ssh", node: { id: metadata.name, name: spec.hostname, labels: metadata.labels ?? {} } };
}

function servedAsk({ kind, name, labels, details }: Awaited<ReturnType<AuthClient["listOffered"]>>["resources"][number]): readonly ServedAsk[] {
  if (!isServedKind(kind)) return [];
  const served = { name, labels };
  return [kind === "db" ? { kind, served, makesAccounts: details.admin_user !== undefined } : { kind, served }];
}
