import { writeDocuments } from "../../../core/resources/document.ts";
import { instanceDocument } from "../../../core/resources/instance.ts";
import { listInstances } from "../inventory/list-instances.ts";
import type { Api, Handlers } from "./guard.ts";

type Methods = Handlers<"listInventory">;

export function inventoryMethods(api: Api): Methods {
  return {
    listInventory: async ({ limit, cursor, ...filter }) => {
      const found = await listInstances(api.context, { filter, limit, cursor });
      return { instancesJson: writeDocuments(instanceDocument, found.instances), cursor: found.cursor };
    },
  };
}
