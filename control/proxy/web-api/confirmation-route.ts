import { type ConfirmedThing, confirmationAskSchema, confirmationSchema } from "../../../core/api/web/confirmations.ts";
import type { Api } from "./api/api.ts";
import { apiRoute } from "./api/api-route.ts";
import { type LaunchServices, siteAt } from "./launch-routes.ts";

/** `POST /webapi/v1/confirmations`: a one-time code for what a page opens. The auth service checks it, throttles and audits. */
export function confirmationRoute(api: Api, { appSites }: Pick<LaunchServices, "appSites">): void {
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/confirmations",
    summary: "Confirms by a one-time code what the page opens, where a role demands one for each session.",
    schema: { body: confirmationAskSchema, answer: confirmationSchema },
    handler: async ({ auth, body }) => {
      const { confirmation } = await auth.createConfirmation({ ...targetOf(body.for, appSites), code: body.code });
      return { confirmation };
    },
  });
}

function targetOf(thing: ConfirmedThing, appSites: LaunchServices["appSites"]) {
  const { type: purpose } = thing;
  switch (purpose) {
    case "terminal":
    case "files":
      return { purpose, name: thing.node, login: thing.login };
    case "join":
      return { purpose, name: thing.session };
    case "kube":
      return { purpose, name: thing.cluster };
    case "app":
      return { purpose, name: siteAt(appSites, thing.host).app };
  }
}
