import type { ServiceImpl } from "@connectrpc/connect";
import type { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { exportWindows } from "../maintenance/export-windows.ts";
import { type Api, unary } from "./guard.ts";

type Methods = Pick<ServiceImpl<typeof AuthService>, "exportUpgradeWindows">;

export function maintenanceMethods(api: Api): Methods {
  return {
    exportUpgradeWindows: unary(api, "exportUpgradeWindows", async ({ upgrader }) => {
      if (upgrader !== "unit" && upgrader !== "kube") {
        throw new PlatformError("invalid", `unknown upgrader ${JSON.stringify(upgrader.slice(0, 64))}`, { hint: "upgraders are unit and kube" });
      }
      return { ...(await exportWindows(api.context)) };
    }),
  };
}
