import { z } from "zod";
import { newInviteSchema, newTokenSchema, tokenAskSchema } from "../../../../core/api/web/documents.ts";
import { configSnippet, joinLines } from "../../../../core/config/join-text.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { readDocument, resourceDocument } from "../../../../core/resources/document.ts";
import { formatHostPort } from "../../../../core/transport/host-port.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";
import { type PingFacts, publicAddress } from "../ping.ts";

const userParams = z.object({ user: z.string().min(1).max(64) });

/** Ways in: join tokens for hosts, invite links for users. Their secrets are in these answers alone. */
export function enrolRoutes(api: Api, { ping }: { readonly ping: () => PingFacts }): void {
  addTokens(api, ping);
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/users/:user/invite",
    summary: "Makes an invite link; password and authenticator of before stop working.",
    schema: { params: userParams, answer: newInviteSchema },
    handler: async ({ auth, params }) => {
      const { token, expires } = await auth.createInvite(params);
      return { url: `https://${formatHostPort(publicAddress(ping())).replace(/:443$/, "")}/web/invite/${token}`, expires };
    },
  });
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/users/:user/unlock",
    summary: "Ends the wait after failed logins of a user.",
    schema: { params: userParams, answer: z.object({ was_locked: z.boolean() }) },
    handler: async ({ auth, params }) => ({ was_locked: (await auth.unlockUser(params)).wasLocked }),
  });
}

function addTokens(api: Api, ping: () => PingFacts): void {
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/tokens",
    summary: "Makes a join token, with the lines that join a host.",
    schema: { body: tokenAskSchema, answer: newTokenSchema },
    handler: async ({ auth, body: { roles, ttl_seconds: ttlSeconds = 0, uses = 0 } }) => {
      const { secret, token } = await auth.createToken({ roles, ttlSeconds, uses });
      if (token === undefined) throw new PlatformError("internal", "the auth service answered no token");
      const { expires } = readDocument(resourceDocument, token.json).metadata;
      const { caPins } = await auth.getCluster({});
      const facts = { secret, caPins, proxyAddress: formatHostPort(publicAddress(ping())), roles };
      return { secret, ...(typeof expires === "string" && { expires }), install: joinLines(facts).join("\n"), config: configSnippet(facts) };
    },
  });
}
