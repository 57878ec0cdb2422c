import { PlatformError } from "../../../core/errors/platform-error.ts";
import { writeDocument } from "../../../core/resources/document.ts";
import { upgradePlanDocument } from "../../../core/resources/upgrade-plan.ts";
import { rolloutActions } from "../rollout/change-rollout.ts";
import { vouchFor } from "../rollout/vouch-for.ts";
import { actorOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"getUpgradeTarget" | "getUpgradePlan" | "changeRollout">;

export function rolloutMethods(api: Api): Methods {
  const { rollouts } = api.context;
  return {
    getUpgradeTarget: async ({ channel, hostId, version, critical }, caller) => {
      const proxy = caller.kind === "host" ? caller.identity.id : "";
      return vouchFor(api.context, { channel, hostId, version, critical }, proxy);
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
