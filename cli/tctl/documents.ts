import type { AuthClient } from "../../core/api/auth-client.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type Lock, lockSchema } from "../../core/resources/lock.ts";
import { type Maintenance, maintenanceName, maintenanceSchema } from "../../core/resources/maintenance.ts";
import { type Node, nodeSchema } from "../../core/resources/node.ts";
import { type Role, roleSchema } from "../../core/resources/role.ts";
import { type Token, tokenSchema } from "../../core/resources/token.ts";
import { type UpgradeRollout, upgradeRolloutSchema } from "../../core/resources/upgrade-rollout.ts";
import { type User, userSchema } from "../../core/resources/user.ts";

/** Kinds that tctl knows, with the schema that the auth service checks by too. */
export const resourceSchemas = {
  role: roleSchema,
  user: userSchema,
  token: tokenSchema,
  node: nodeSchema,
  lock: lockSchema,
  cluster_maintenance_config: maintenanceSchema,
  upgrade_rollout: upgradeRolloutSchema,
} as const;
export type Kind = keyof typeof resourceSchemas;
export const kinds = Object.keys(resourceSchemas) as readonly Kind[];
export type Document = Role | User | Token | Node | Lock | Maintenance | UpgradeRollout;

/** Other spellings that people type: plural, the reference's names. */
const aliases: Readonly<Record<string, Kind>> = {
  roles: "role",
  users: "user",
  tokens: "token",
  nodes: "node",
  server: "node",
  servers: "node",
  locks: "lock",
  cmc: "cluster_maintenance_config",
  rollout: "upgrade_rollout",
};

/** Kinds of which there is one document, with its name: it need not be given. */
const singletons: Readonly<Partial<Record<Kind, string>>> = { cluster_maintenance_config: maintenanceName, upgrade_rollout: "default" };

/** Kinds of the reference that people have manifests of, and what they are. */
const unsupported: Readonly<Record<string, string>> = {
  github: "github connectors",
  oidc: "oidc connectors",
  saml: "saml connectors",
  connector: "connectors",
  connectors: "connectors",
};

/** Throws `invalid` naming the kinds there are. */
export function parseKind(text: string): Kind {
  const kind = kinds.find((one) => one === text) ?? aliases[text];
  if (kind !== undefined) return kind;
  throw new PlatformError("invalid", unknownKindText(text), { hint: `kinds: ${kinds.join(", ")}` });
}

/** What is wrong with a kind that is not one of `kinds`. */
export function unknownKindText(text: string): string {
  const known = Object.hasOwn(unsupported, text) ? unsupported[text] : undefined;
  return known === undefined ? `there is no resource kind ${JSON.stringify(text)}` : `${known} are not supported by this version`;
}

/** `kind` or `kind/name`; a kind of which there is one is that one. */
export function parseReference(text: string): { readonly kind: Kind; readonly name: string | undefined } {
  const slash = text.indexOf("/");
  if (slash < 0) {
    const kind = parseKind(text);
    return { kind, name: singletons[kind] };
  }
  const name = text.slice(slash + 1);
  if (name !== "") return { kind: parseKind(text.slice(0, slash)), name };
  throw new PlatformError("invalid", `${JSON.stringify(text)} names no resource after the slash`, {
    hint: "write it as kind/name, like role/access",
  });
}

/** Documents of one kind as the service sent them, sorted by name. */
export async function listDocuments<T extends Document>(client: AuthClient, kind: T["kind"]): Promise<readonly T[]> {
  const { resources } = await client.listResources({ kind });
  const documents = resources.map(({ json }) => JSON.parse(json) as T);
  return documents.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

export async function getDocument<T extends Document>(client: AuthClient, kind: T["kind"], name: string): Promise<T> {
  const { json } = await client.getResource({ kind, name });
  return JSON.parse(json) as T;
}
