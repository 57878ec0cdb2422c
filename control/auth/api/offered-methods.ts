import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { AuthService, OfferedResourceSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { parseJsonAs } from "../../../core/bytes/parse-json.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { maxOffered, type Offered, offeredSchema } from "../../../core/resources/offered.ts";
import { requireHost } from "../inventory/host-records.ts";
import { allowedServices } from "../inventory/node-services.ts";
import { listOffered, type OfferedResource } from "../offered/list-offered.ts";
import { type Api, unary } from "./guard.ts";
import { isDenied, mayReach, requireRule } from "./permissions.ts";

type Methods = Pick<ServiceImpl<typeof AuthService>, "reportOffered" | "listOffered">;

export function offeredMethods(api: Api): Methods {
  const { context } = api;
  return {
    reportOffered: unary(api, "reportOffered", async ({ hostId, offeredJson }) => {
      await requireHost(context.storage, "node", hostId);
      const bytes = offeredJson.reduce((sum, json) => sum + Buffer.byteLength(json), 0);
      if (offeredJson.length > maxOffered.count || bytes > maxOffered.bytes) {
        throw new PlatformError("limit", `host ${hostId} offers more than ${maxOffered.count} resources, or more than ${maxOffered.bytes} bytes`);
      }
      const allowed: readonly string[] = await allowedServices(context.storage, hostId);
      const offered = offeredJson.map((json) => parseJsonAs(offeredSchema, json, "an offered resource")).filter(({ kind }) => allowed.includes(kind));
      context.offered.report(hostId, offered, bytes);
      return {};
    }),
    listOffered: unary(api, "listOffered", async ({ kind }, caller) => {
      let isVisible: (one: Offered, hostId: string) => boolean = () => true;
      try {
        await requireRule(context, caller, { resource: "node", verb: "list" });
      } catch (thrown) {
        if (!isDenied(thrown) || caller.kind !== "user") throw thrown;
        const reaches = await mayReach(context, caller);
        isVisible = (one, serverId) => one.kind === "app" && reaches({ kind: "app", app: { name: one.name, labels: one.labels }, serverId });
      }
      const isWanted = (one: Offered, hostId: string): boolean => (kind === "" || one.kind === kind) && isVisible(one, hostId);
      return { resources: listOffered(context.offered, context.live, isWanted).map(message) };
    }),
  };
}

function message({ kind, name, labels, hostIds }: OfferedResource): MessageInitShape<typeof OfferedResourceSchema> {
  return { kind, name, labels: { ...labels }, hostIds: [...hostIds] };
}
