import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readDocument, writeDocument } from "../../../core/resources/document.ts";
import { proxyFactsDocument } from "../../../core/resources/proxy-facts.ts";
import { upgradePlanDocument } from "../../../core/resources/upgrade-plan.ts";
import { rolloutActions } from "../rollout/change-rollout.ts";
import { exportWindows } from "../rollout/maintenance.ts";
import type { TargetsAsk } from "../rollout/rollouts.ts";
import { vouchFor } from "../rollout/vouch-for.ts";
import { actorOf, type Caller, hostOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";

/** Maximum hosts of one `getUpgradeTargets`: their answers fit into the maximum message. */
const maxHosts = 1000;

export function rolloutMethods(api: Api): Handlers<"getUpgradeTarget" | "getUpgradeTargets" | "getUpgradePlan" | "changeRollout"> {
  const { rollouts } = api.context;
  const targets = (ask: TargetsAsk, caller: Caller) => [...vouchFor(api.context, ask, caller.kind === "host" ? caller.identity.id : "")];
  return {
    getUpgradeTarget: async ({ hostId, ...ask }, caller) => targets({ ...ask, hostIds: [hostId] }, caller)[0] ?? {},
    getUpgradeTargets: async (ask, caller) => {
      if (ask.hostIds.length > maxHosts) throw new PlatformError("limit", `more than ${maxHosts} hosts in one call`);
      return { targets: targets(ask, caller) };
    },
    getUpgradePlan: async ({ channel, version, brief }) => ({
      json: writeDocument(upgradePlanDocument, await rollouts.plan({ channel, version, brief })),
    }),
    changeRollout: async ({ action, group, channel }, caller) => {
      const known = rolloutActions.find((one) => one === action);
      if (known === undefined)
        throw new PlatformError("invalid", `unknown roll-out action ${JSON.stringify(action.slice(0, 64))}; use ${rolloutActions.join(", ")}`);
      const actor = actorOf(caller);
      return { json: JSON.stringify(await rollouts.change({ action: known, channel, group, actor })) };
    },
  };
}

export function maintenanceMethods(api: Api): Handlers<"exportUpgradeWindows"> {
  return {
    exportUpgradeWindows: async ({ upgrader }) => {
      if (upgrader !== "unit" && upgrader !== "kube") {
        throw new PlatformError("invalid", `unknown upgrader ${JSON.stringify(upgrader.slice(0, 64))}`, { hint: "upgraders are unit and kube" });
      }
      return { ...(await exportWindows(api.context)) };
    },
  };
}

export function channelMethods(api: Api): Handlers<"reportChannels"> {
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
