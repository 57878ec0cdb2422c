import { listInstances } from "../inventory/list-instances.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"listInventory">;

export function inventoryMethods(api: Api): Methods {
  return {
    listInventory: async ({ limit, cursor, ...filter }) => {
      const found = await listInstances(api.context, { filter, limit, cursor });
      return { instancesJson: found.instances.map((instance) => JSON.stringify(instance)), cursor: found.cursor };
    },
  };
}
