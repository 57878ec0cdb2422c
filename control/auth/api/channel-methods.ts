import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readDocument } from "../../../core/resources/document.ts";
import { proxyFactsDocument } from "../../../core/resources/proxy-facts.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"reportChannels">;

export function channelMethods(api: Api): Methods {
  const { context } = api;
  return {
    reportChannels: async ({ channelsJson, digest, troublesJson, proxyJson }, caller) => {
      if (caller.kind !== "host") throw new PlatformError("denied", "access denied: reportChannels is for proxies");
      context.channels.report(caller.identity.id, { channelsJson, digest, troublesJson });
      // A proxy of the previous version reports nothing about itself.
      if (proxyJson !== "") context.proxyReports.report(caller.identity.id, readDocument(proxyFactsDocument, proxyJson));
      return {};
    },
  };
}
