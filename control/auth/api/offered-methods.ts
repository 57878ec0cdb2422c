import type { MessageInitShape } from "@bufbuild/protobuf";
import { authorize } from "../../../core/access/authorize.ts";
import type { OfferedResourceSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { maxOffered, type Offered, offeredSchema } from "../../../core/resources/offered.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import { checkDocument } from "../documents/document.ts";
import { requireHost } from "../inventory/host-records.ts";
import { allowedServices } from "../inventory/node-services.ts";
import { listLocks } from "../locks/locks.ts";
import { listOffered, type OfferedResource } from "../offered/list-offered.ts";
import { rolesNamed } from "../roles/roles.ts";
import type { UserCaller } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";
import { isDenied } from "./list-nodes.ts";
import { requireRule } from "./permissions.ts";

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
        isVisible = await mayReach(api, caller);
      }
      const isWanted = (one: Offered, hostId: string): boolean => (kind === "" || one.kind === kind) && isVisible(one, hostId);
      return { resources: listOffered(context.offered, context.live, isWanted).map(message) };
    },
  };
}

function message({ kind, name, labels, hostIds }: OfferedResource): MessageInitShape<typeof OfferedResourceSchema> {
  return { kind, name, labels: { ...labels }, hostIds: [...hostIds] };
}

async function mayReach({ context }: Pick<Api, "context">, { identity, address }: UserCaller): Promise<(one: Offered, hostId: string) => boolean> {
  const roles = await rolesNamed(context.storage, identity.roles);
  const facts = { identity, roles, locks: await listLocks(context.storage), clientIp: ipOf(address), now: context.now() };
  return ({ kind, name, labels }, serverId) => {
    if (kind !== "app") return false;
    try {
      authorize({ ...facts, ask: { kind, app: { name, labels }, serverId } });
      return true;
    } catch (thrown) {
      if (isDenied(thrown)) return false;
      throw thrown;
    }
  };
}
