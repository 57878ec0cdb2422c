import { readDocument } from "../../../core/resources/document.ts";
import { proxyFactsDocument } from "../../../core/resources/proxy-facts.ts";
import { hostOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"reportChannels">;

export function channelMethods(api: Api): Methods {
  const { context } = api;
  return {
    reportChannels: async ({ channelsJson, digest, troublesJson, proxyJson }, caller) => {
      const host = hostOf(caller);
      context.channels.report(host.id, { channelsJson, digest, troublesJson });
      // A proxy of the previous version reports nothing about itself.
      if (proxyJson !== "") context.proxyReports.report(host.id, readDocument(proxyFactsDocument, proxyJson));
      return {};
    },
  };
}
