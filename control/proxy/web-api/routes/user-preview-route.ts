import { compareAccess } from "../../../../core/access/compare-access.ts";
import { type UserPreview, userPreviewAskSchema, userPreviewSchema } from "../../../../core/api/web/access.ts";
import type { Role } from "../../../../core/resources/role.ts";
import { type User, userSchema } from "../../../../core/resources/user.ts";
import type { Api } from "../api/api.ts";
import { mostChanges, placesOf, storedAccess } from "./compared-access.ts";
import { type PreviewServices, previewRoute } from "./preview-route.ts";

/**
 * `POST /webapi/v1/user-preview`: what a user would gain and lose if the document were stored as it is sent; nothing is stored. It compares what the caller
 * may see: it needs the rights to list roles and users.
 */
export function userPreviewRoute(api: Api, services: PreviewServices): void {
  previewRoute(
    api,
    {
      path: "/webapi/v1/user-preview",
      summary: "Shows what a user would gain and lose by other roles and traits; they are not stored.",
      bodyLimit: 256 * 1024,
      schema: { body: userPreviewAskSchema, answer: userPreviewSchema },
      document: { kind: "user", schema: userSchema },
      sent: ({ yaml, user }) => ({ yaml, json: user }),
      facts: storedAccess,
      show: async ({ document: user, yaml, facts: { roles, users } }, { auth }) => {
        const { places, isPartial } = await placesOf(auth);
        const stored = users.find(({ metadata }) => metadata.name === user.metadata.name);
        const changes = changesOf({ user, stored, roles, places, now: services.now() });
        return {
          user,
          yaml,
          is_stored: stored !== undefined,
          resources: places.length,
          is_partial: isPartial || changes.length > mostChanges,
          changes: changes.slice(0, mostChanges),
        };
      },
    },
    services,
  );
}

interface ChangesFacts extends Pick<Parameters<typeof compareAccess>[0], "places" | "now"> {
  readonly user: User;
  /** Undefined: a new one. */
  readonly stored: User | undefined;
  /** All stored roles. */
  readonly roles: readonly Role[];
}

function changesOf({ user, stored, roles, ...facts }: ChangesFacts): UserPreview["changes"] {
  const held = (of: User | undefined): readonly Role[] => roles.filter(({ metadata }) => of?.spec.roles.includes(metadata.name) === true);
  const found = compareAccess({ ...facts, user, ...(stored !== undefined && { userBefore: stored }), before: held(stored), after: held(user) });
  return found.map((change) => ({ user: user.metadata.name, ...change, as: [...change.as] }));
}
