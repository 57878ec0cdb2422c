import { setImmediate } from "node:timers/promises";
import type { ServedAsk, SshAsk } from "../../../../core/access/ask.ts";
import { type AccessChange, compareAccess } from "../../../../core/access/compare-access.ts";
import { unreadableParts } from "../../../../core/access/unreadable-parts.ts";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { type RolePreview, rolePreviewAskSchema, rolePreviewSchema } from "../../../../core/api/web/access.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { documentKind, readDocument } from "../../../../core/resources/document.ts";
import { type Role, roleDocument, roleSchema } from "../../../../core/resources/role.ts";
import { type User, userSchema } from "../../../../core/resources/user.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";
import type { ReadYaml } from "./documents-reader.ts";
import { placesOf } from "./preview-places.ts";
import { sentDocument, yamlOf } from "./sent-document.ts";

const userDocument = documentKind("resource", userSchema, { what: "the user" });
/** Maximum users that are compared, and changes in an answer. */
const most = { users: 50, changes: 500 } as const;

/**
 * `POST /webapi/v1/role-preview`: what each holder of a role would gain and lose if it were stored as it is sent; nothing is stored. It compares what the caller
 * may see: it needs the rights to list roles and users.
 */
export function rolePreviewRoute(api: Api, { now, readYaml }: { readonly now: () => Date; readonly readYaml: ReadYaml }): void {
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/role-preview",
    summary: "Shows what the users of a role would gain and lose if it were stored; it is not stored.",
    bodyLimit: 256 * 1024,
    schema: { body: rolePreviewAskSchema, answer: rolePreviewSchema },
    handler: async ({ auth, browser, body, signal }) => {
      // First: a caller without the rights is refused, and audited, once.
      const stored = await auth.listResources({ kind: "role" });
      const people = await auth.listResources({ kind: "user" });
      const sent = { yaml: body.yaml, json: body.role };
      const role = await sentDocument({ kind: "role", schema: roleSchema }, sent, async (yaml) => await readYaml(browser.user, yaml));
      requireReadable(role);
      const facts = await readFacts(auth, { role, more: body.users, stored, people });
      const compared = await compare(facts, { role, now: now(), signal });
      return { role, yaml: yamlOf(role), ...compared };
    },
  });
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

type Listed = Awaited<ReturnType<AuthClient["listResources"]>>;

interface FactsAsk {
  readonly role: Role;
  readonly more: readonly string[];
  readonly stored: Listed;
  readonly people: Listed;
}

async function readFacts(auth: AuthClient, { role, more, stored, people }: FactsAsk): Promise<Facts> {
  const { places, isPartial } = await placesOf(auth);
  const known = people.resources.map(({ json }) => readDocument(userDocument, json));
  const missing = more.find((name) => !known.some(({ metadata }) => metadata.name === name));
  if (missing !== undefined) throw new PlatformError("not_found", `there is no user ${JSON.stringify(missing)}`);
  const users = known.filter(({ metadata, spec }) => spec.roles.includes(role.metadata.name) || more.includes(metadata.name));
  return {
    users: users.slice(0, most.users),
    roles: stored.resources.map(({ json }) => readDocument(roleDocument, json)),
    places,
    isPartial: isPartial || users.length > most.users,
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
    if (changes.length > most.changes) break;
    await setImmediate(undefined, { signal });
    const holds = ({ metadata }: Role): boolean => user.spec.roles.includes(metadata.name);
    const found = compareAccess({ user, before: roles.filter(holds), after: [...others.filter(holds), role], places, now });
    changes.push(...found.map((change) => ({ user: user.metadata.name, ...change })));
  }
  return {
    users: users.length,
    resources: places.length,
    is_partial: isPartial || changes.length > most.changes,
    changes: changes.slice(0, most.changes).map((change) => ({ ...change, as: [...change.as] })),
  };
}
