import { compareAccess } from "../../../../core/access/compare-access.ts";
import { type UserPreview, userPreviewAskSchema, userPreviewSchema } from "../../../../core/api/web/access.ts";
import { documentKind, readDocument } from "../../../../core/resources/document.ts";
import { type Role, roleDocument } from "../../../../core/resources/role.ts";
import { type User, userSchema } from "../../../../core/resources/user.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";
import type { ReadYaml } from "./documents-reader.ts";
import { placesOf } from "./preview-places.ts";
import { sentDocument, yamlOf } from "./sent-document.ts";

const userDocument = documentKind("resource", userSchema, { what: "the user" });
/** Maximum changes in an answer. */
const mostChanges = 500;

/**
 * `POST /webapi/v1/user-preview`: what a user would gain and lose if the document were stored as it is sent; nothing is stored. It compares what the caller
 * may see: it needs the rights to list roles and users.
 */
export function userPreviewRoute(api: Api, { now, readYaml }: { readonly now: () => Date; readonly readYaml: ReadYaml }): void {
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/user-preview",
    summary: "Shows what a user would gain and lose by other roles and traits; they are not stored.",
    bodyLimit: 256 * 1024,
    schema: { body: userPreviewAskSchema, answer: userPreviewSchema },
    handler: async ({ auth, browser, body }) => {
      // First: a caller without the rights is refused, and audited, once.
      const roles = (await auth.listResources({ kind: "role" })).resources.map(({ json }) => readDocument(roleDocument, json));
      const users = (await auth.listResources({ kind: "user" })).resources.map(({ json }) => readDocument(userDocument, json));
      const sent = { yaml: body.yaml, json: body.user };
      const user = await sentDocument({ kind: "user", schema: userSchema }, sent, async (yaml) => await readYaml(browser.user, yaml));
      const { places, isPartial } = await placesOf(auth);
      const stored = users.find(({ metadata }) => metadata.name === user.metadata.name);
      const changes = changesOf({ user, stored, roles, places, now: now() });
      return {
        user,
        yaml: yamlOf(user),
        is_stored: stored !== undefined,
        resources: places.length,
        is_partial: isPartial || changes.length > mostChanges,
        changes: changes.slice(0, mostChanges),
      };
    },
  });
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
