import type { ServiceImpl } from "@connectrpc/connect";
import type { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { listInstances } from "../inventory/list-instances.ts";
import { type Api, unary } from "./guard.ts";

type Methods = Pick<ServiceImpl<typeof AuthService>, "listInventory">;

export function inventoryMethods(api: Api): Methods {
  return {
    listInventory: unary(api, "listInventory", async ({ limit, cursor, ...filter }) => {
      const found = await listInstances(api.context, { filter, limit, cursor });
      return { instancesJson: found.instances.map((instance) => JSON.stringify(instance)), cursor: found.cursor };
    }),
  };
}
