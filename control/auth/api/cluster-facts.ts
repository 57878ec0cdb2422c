import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetClusterResponseSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { version } from "../../../core/versions/version.ts";
import type { AuthContext } from "../auth-context.ts";
import { trustedKeys } from "../authority/trusted-keys.ts";
import { versionWarnings } from "../inventory/version-warnings.ts";
import { findMaintenance } from "../maintenance/maintenance.ts";
import { goneWarnings } from "../presence/gone-warning.ts";

/** What anybody may know about the cluster. */
export function clusterFacts(context: AuthContext): MessageInitShape<typeof GetClusterResponseSchema> {
  const { host } = context.authorities;
  return {
    clusterName: context.clusterName,
    version,
    ...trustedKeys(context.authorities),
    caPins: host.trusted.map(({ pin }) => pin),
    proxyListenerMode: context.listenerMode,
    proxyPublicAddrs: [...context.proxies.addresses()],
  };
}

/** What an admin should look at, a sentence each. */
export async function clusterWarnings(context: AuthContext): Promise<readonly string[]> {
  const { channels, proxies, presence, shipping, live } = context;
  const named = (proxy: string): string => proxies.addressOf(proxy) ?? proxy;
  return [
    ...channels.warnings(named),
    ...channels.troubleWarnings(named),
    ...versionWarnings(
      [...live.all()].map(([, node]) => node),
      version,
    ),
    ...(await windowWarnings(context)),
    ...goneWarnings(presence.absent.values()),
    ...shipping.warnings(),
  ];
}

async function windowWarnings({ live, storage }: AuthContext): Promise<readonly string[]> {
  const enrolled = [...live.all()].filter(([, { connected, status }]) => connected && status !== undefined && status.upgrader !== "none").length;
  if (enrolled === 0 || (await findMaintenance(storage)) !== undefined) return [];
  return [`no maintenance window: ${enrolled} hosts take critical versions only, until there is a cluster_maintenance_config (tctl create)`];
}
