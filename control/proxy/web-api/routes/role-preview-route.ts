import { setImmediate } from "node:timers/promises";
import type { ServedAsk, SshAsk } from "../../../../core/access/ask.ts";
import { type AccessChange, compareAccess } from "../../../../core/access/compare-access.ts";
import { unreadableParts } from "../../../../core/access/unreadable-parts.ts";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { type RolePreview, rolePreviewAskSchema, rolePreviewSchema } from "../../../../core/api/web/access.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type Role, roleSchema } from "../../../../core/resources/role.ts";
import type { User } from "../../../../core/resources/user.ts";
import type { Api } from "../api/api.ts";
import { mostChanges, placesOf, type StoredAccess, storedAccess } from "./compared-access.ts";
import { type PreviewServices, previewRoute } from "./preview-route.ts";

/** Maximum users that are compared. */
const mostUsers = 50;

/**
 * `POST /webapi/v1/role-preview`: what each holder of a role would gain and lose if it were stored as it is sent; nothing is stored. It compares what the caller
 * may see: it needs the rights to list roles and users.
 */
export function rolePreviewRoute(api: Api, services: PreviewServices): void {
  previewRoute(
    api,
    {
      path: "/webapi/v1/role-preview",
      summary: "Shows what the users of a role would gain and lose if it were stored; it is not stored.",
      bodyLimit: 256 * 1024,
      schema: { body: rolePreviewAskSchema, answer: rolePreviewSchema },
      document: { kind: "role", schema: roleSchema },
      sent: ({ yaml, role }) => ({ yaml, json: role }),
      facts: storedAccess,
      show: async ({ document: role, yaml, facts: stored }, { auth, body, signal }) => {
        requireReadable(role);
        const facts = await readFacts(auth, { role, more: body.users, stored });
        const compared = await compare(facts, { role, now: services.now(), signal });
        return { role, yaml, ...compared };
      },
    },
    services,
  );
}

/** Throws `invalid` for what could not be stored. */
function requireReadable(role: Role): void {
  const problems = unreadableParts(role);
  if (problems.length > 0) throw new PlatformError("invalid", problems.slice(0, 8).join("; "));
}

interface Facts {
  /** Holders of the role, and the users who would get it. */
  readonly users: readonly User[];
  /** All stored roles. */
  readonly roles: readonly Role[];
  readonly places: readonly (SshAsk | ServedAsk)[];
  readonly isPartial: boolean;
}

interface FactsAsk {
  readonly role: Role;
  readonly more: readonly string[];
  readonly stored: StoredAccess;
}

async function readFacts(auth: AuthClient, { role, more, stored }: FactsAsk): Promise<Facts> {
  const { places, isPartial } = await placesOf(auth);
  const missing = more.find((name) => !stored.users.some(({ metadata }) => metadata.name === name));
  if (missing !== undefined) throw new PlatformError("not_found", `there is no user ${JSON.stringify(missing)}`);
  const users = stored.users.filter(({ metadata, spec }) => spec.roles.includes(role.metadata.name) || more.includes(metadata.name));
  return {
    users: users.slice(0, mostUsers),
    roles: stored.roles,
    places,
    isPartial: isPartial || users.length > mostUsers,
  };
}

/** One user after the other, so that other requests are served meanwhile. */
async function compare(
  { users, roles, places, isPartial }: Facts,
  { role, now, signal }: { readonly role: Role; readonly now: Date; readonly signal: AbortSignal },
): Promise<Pick<RolePreview, "users" | "resources" | "is_partial" | "changes">> {
  const others = roles.filter(({ metadata }) => metadata.name !== role.metadata.name);
  const changes: (AccessChange & { readonly user: string })[] = [];
  for (const user of users) {
    if (changes.length > mostChanges) break;
    await setImmediate(undefined, { signal });
    const holds = ({ metadata }: Role): boolean => user.spec.roles.includes(metadata.name);
    const found = compareAccess({ user, before: roles.filter(holds), after: [...others.filter(holds), role], places, now });
    changes.push(...found.map((change) => ({ user: user.metadata.name, ...change })));
  }
  return {
    users: users.length,
    resources: places.length,
    is_partial: isPartial || changes.length > mostChanges,
    changes: changes.slice(0, mostChanges).map((change) => ({ ...change, as: [...change.as] })),
  };
}
