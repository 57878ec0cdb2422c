import type { MessageInitShape } from "@bufbuild/protobuf";
import type { OfferedResourceSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { isServedKind } from "../../../core/kinds/service-kinds.ts";
import { maxOffered, type Offered, offeredSchema } from "../../../core/resources/offered.ts";
import { checkDocument } from "../documents/document.ts";
import { requireHost } from "../inventory/host-records.ts";
import { allowedServices } from "../inventory/node-services.ts";
import { listOffered, type OfferedResource } from "../offered/list-offered.ts";
import type { Api, Handlers } from "./guard.ts";
import { isDenied, mayReach, requireRule } from "./permissions.ts";

type Methods = Handlers<"reportOffered" | "listOffered">;

export function offeredMethods(api: Api): Methods {
  const { context } = api;
  return {
    reportOffered: async ({ hostId, offered: reported }) => {
      await requireHost(context.storage, "node", hostId);
      const bytes = reported.reduce((sum, { kind, name, labels }) => sum + Buffer.byteLength(JSON.stringify({ kind, name, labels })), 0);
      if (reported.length > maxOffered.count || bytes > maxOffered.bytes) {
        throw new PlatformError("limit", `host ${hostId} offers more than ${maxOffered.count} resources, or more than ${maxOffered.bytes} bytes`);
      }
      const allowed: readonly string[] = await allowedServices(context.storage, hostId);
      const offered = reported.map((one) => checkDocument(offeredSchema, one)).filter(({ kind }) => allowed.includes(kind));
      context.offered.report(hostId, offered, bytes);
      return {};
    },
    listOffered: async ({ kind }, caller) => {
      let isVisible: (one: Offered, hostId: string) => boolean = () => true;
      try {
        await requireRule(context, caller, { resource: "node", verb: "list" });
      } catch (thrown) {
        if (!isDenied(thrown) || caller.kind !== "user") throw thrown;
        const reaches = await mayReach(context, caller);
        isVisible = ({ kind: served, name, labels }, serverId) =>
          isServedKind(served) && reaches({ kind: served, served: { name, labels }, serverId });
      }
      const isWanted = (one: Offered, hostId: string): boolean => (kind === "" || one.kind === kind) && isVisible(one, hostId);
      return { resources: listOffered(context.offered, context.live, isWanted).map(message) };
    },
  };
}

function message({ kind, name, labels, hostIds }: OfferedResource): MessageInitShape<typeof OfferedResourceSchema> {
  return { kind, name, labels: { ...labels }, hostIds: [...hostIds] };
}
