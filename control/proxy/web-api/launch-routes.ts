import { z } from "zod";
import { confirmed } from "../../../core/api/web/confirmations.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { appFacts } from "../../../core/resources/app-details.ts";
import { formatCredential } from "../../browser/session-credential.ts";
import type { AppSessions } from "../app-front/app-sessions.ts";
import type { AppSites } from "../app-front/app-sites.ts";
import { SiteAddresses } from "../app-front/site-address.ts";
import type { Api } from "./api/api.ts";
import { apiRoute } from "./api/api-route.ts";
import { type PingFacts, publicAddress } from "./ping.ts";

export interface LaunchServices {
  readonly appSites: Pick<AppSites, "find" | "hostOf">;
  readonly appSessions: Pick<AppSessions, "opened">;
  /** Current facts: ports are known once they are bound. */
  readonly ping: () => PingFacts;
}

const hostText = z.string().min(1).max(253);

const siteSchema = z.object({
  /** Where a hand-off begins, at the application's own host name. */
  start: z.string(),
  /** Host names of applications that the browser is signed in to first. */
  required: z.array(z.string()),
});

const openedSchema = z.object({
  /** `<id>.<secret>` and the second secret, for the fragment of the address in `auth`: nowhere else. */
  session: z.string(),
  subject: z.string(),
  /** The page that takes them over. */
  auth: z.string(),
});

type Site = NonNullable<ReturnType<AppSites["find"]>>;

/** The application at a host name. Throws `not_found`. */
export function siteAt(appSites: LaunchServices["appSites"], host: string): Site {
  const site = appSites.find(host);
  if (site !== undefined) return site;
  throw new PlatformError("not_found", `there is no application at ${JSON.stringify(host.slice(0, 64))}`);
}

/** How a page of this site signs its browser in to an application, whose host name knows nothing of this site's session. */
export function launchRoutes(api: Api, { appSites, appSessions, ping }: LaunchServices): void {
  const addresses = (): SiteAddresses => new SiteAddresses(publicAddress(ping()));
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/app-sites/:host",
    summary: "Shows where the hand-off to an application begins, and which applications come before it.",
    schema: { params: z.object({ host: hostText }), answer: siteSchema },
    handler: async ({ params, auth }) => {
      const { app, host } = siteAt(appSites, params.host);
      // Only what the user may use is shown.
      const { resources } = await auth.listOffered({ kind: "app", query: `name == ${JSON.stringify(app)}` });
      const required = resources.flatMap((one) => (one.name === app ? appFacts(one).requiredApps : []));
      const hosts = [...new Set(required)].flatMap((name) => appSites.hostOf(name) ?? []).filter((one) => one !== host);
      return { start: addresses().start(host), required: hosts };
    },
  });
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/app-sessions",
    summary: "Opens a session with the application at a host name, for the page of that host name to take over within a minute.",
    schema: { body: z.strictObject({ host: hostText, ...confirmed }), answer: openedSchema },
    handler: async ({ body, auth }) => {
      const { app, host } = siteAt(appSites, body.host);
      const { credential } = await auth.createAppSession({ app, confirmation: body.confirmation ?? "" });
      if (credential === undefined) throw new PlatformError("internal", "the auth service answered no session");
      const { id, secret, subject } = credential;
      appSessions.opened({ credential: { id, secret, subject }, app });
      return { session: formatCredential({ id, secret }), subject, auth: addresses().auth(host) };
    },
  });
}
