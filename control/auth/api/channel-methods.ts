import type { ServiceImpl } from "@connectrpc/connect";
import type { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { parseProxyFacts } from "../../../core/resources/proxy-facts.ts";
import { hostOf } from "./caller.ts";
import { type Api, unary } from "./guard.ts";

type Methods = Pick<ServiceImpl<typeof AuthService>, "reportChannels">;

export function channelMethods(api: Api): Methods {
  const { context } = api;
  return {
    reportChannels: unary(api, "reportChannels", async ({ channelsJson, digest, troublesJson, proxyJson }, caller) => {
      const host = hostOf(caller);
      context.channels.report(host.id, { channelsJson, digest, troublesJson });
      // A proxy of the previous version reports nothing about itself.
      if (proxyJson !== "") context.proxyReports.report(host.id, parseProxyFacts(proxyJson));
      return {};
    }),
  };
}
