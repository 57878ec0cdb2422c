import { z } from "zod";
import { askWhy } from "../../../../core/api/explain-access.ts";
import { type AccessExplanation, explanationSchema } from "../../../../core/api/web/access.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { serviceNames } from "../../../../core/kinds/service-kinds.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";

const nameAt = z.string().min(1).max(256).optional();

/**
 * `GET /webapi/v1/access`: "may alice log in as root on web-1, and why". It needs the rights to read users, roles, locks and the resource.
 * `GET /webapi/v1/databases/access`: the same of the caller's own access to a database, by the caller's own roles, without such a right.
 */
export function accessRoute(api: Api, { now }: { readonly now: () => Date }): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/access",
    summary: "Explains whether a user who logs in now may have an access, and what each role of the user says.",
    schema: {
      query: z.strictObject({
        user: z.string().min(1).max(64),
        kind: z.enum(serviceNames),
        name: z.string().min(1).max(253),
        login: nameAt,
        db_user: nameAt,
        db_name: nameAt,
      }),
      answer: explanationSchema,
    },
    handler: async ({ auth, query: { db_user: dbUser, db_name: dbName, ...question } }) => {
      const { allowed, reason, roles } = await askWhy(auth, { ...question, dbUser, dbName, now: now() });
      return { allowed, reason, roles: [...roles] };
    },
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/databases/access",
    summary: "Explains whether the user may reach a database, and what each of the user's own roles says.",
    schema: { query: z.strictObject({ name: z.string().min(1).max(253), db_user: nameAt, db_name: nameAt }), answer: explanationSchema },
    handler: async ({ auth, query: { name, db_user: dbUser, db_name: dbName } }) => {
      const { allowed, reason, roles } = await auth.explainOwnDatabase({
        name,
        ...(dbUser !== undefined && { dbUser }),
        ...(dbName !== undefined && { dbName }),
      });
      return { allowed, reason, roles: roles.map(({ role, says, why }) => ({ role, says: saidAs(says), ...(why !== "" && { why }) })) };
    },
  });
}

/** Throws `internal` for a word that this version does not know. */
function saidAs(word: string): AccessExplanation["roles"][number]["says"] {
  const known = (["allows", "denies", "nothing"] as const).find((one) => one === word);
  if (known === undefined) throw new PlatformError("internal", `the auth service answered ${JSON.stringify(word)} for a role`);
  return known;
}
