import { z } from "zod";
import { askWhy } from "../../../../core/api/explain-access.ts";
import { explanationSchema } from "../../../../core/api/web/access.ts";
import { serviceNames } from "../../../../core/kinds/service-kinds.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";

const nameAt = z.string().min(1).max(256).optional();

/** `GET /webapi/v1/access`: "may alice log in as root on web-1, and why". It needs the rights to read users, roles, locks and the resource. */
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
}
