import { PlatformError } from "../../../core/errors/platform-error.ts";
import { exportWindows } from "../maintenance/export-windows.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"exportUpgradeWindows">;

export function maintenanceMethods(api: Api): Methods {
  return {
    exportUpgradeWindows: async ({ upgrader }) => {
      if (upgrader !== "unit" && upgrader !== "kube") {
        throw new PlatformError("invalid", `unknown upgrader ${JSON.stringify(upgrader.slice(0, 64))}`, { hint: "upgraders are unit and kube" });
      }
      return { ...(await exportWindows(api.context)) };
    },
  };
}
