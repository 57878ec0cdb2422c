import type { ServiceImpl } from "@connectrpc/connect";
import type { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { rolloutActions } from "../rollout/change-rollout.ts";
import { vouchFor } from "../rollout/vouch-for.ts";
import { actorOf } from "./caller.ts";
import { type Api, unary } from "./guard.ts";

type Methods = Pick<ServiceImpl<typeof AuthService>, "getUpgradeTarget" | "getUpgradePlan" | "changeRollout">;

export function rolloutMethods(api: Api): Methods {
  const { rollouts } = api.context;
  return {
    getUpgradeTarget: unary(api, "getUpgradeTarget", async ({ channel, hostId, version, critical }, caller) => {
      const proxy = caller.kind === "host" ? caller.identity.id : "";
      return vouchFor(api.context, { channel, hostId, version, critical }, proxy);
    }),
    getUpgradePlan: unary(api, "getUpgradePlan", async ({ channel, version, brief }) => ({
      json: JSON.stringify(await rollouts.plan({ channel, version, brief })),
    })),
    changeRollout: unary(api, "changeRollout", async ({ action, group, channel }, caller) => {
      const known = rolloutActions.find((one) => one === action);
      if (known === undefined)
        throw new PlatformError("invalid", `unknown roll-out action ${JSON.stringify(action.slice(0, 64))}; use ${rolloutActions.join(", ")}`);
      const actor = actorOf(caller);
      return { json: JSON.stringify(await rollouts.change({ action: known, channel, group, actor })) };
    }),
  };
}
