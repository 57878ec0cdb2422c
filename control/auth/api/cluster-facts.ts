import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetClusterResponseSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { version } from "../../../core/versions/version.ts";
import type { AuthContext } from "../auth-context.ts";
import { trustedKeys } from "../authority/trusted-keys.ts";
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
export function clusterWarnings({ channels, proxies, presence, shipping }: AuthContext): readonly string[] {
  return [...channels.warnings((proxy) => proxies.addressOf(proxy) ?? proxy), ...goneWarnings(presence.absent.values()), ...shipping.warnings()];
}
