import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetClusterResponseSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { version } from "../../../core/versions/version.ts";
import type { AuthContext } from "../auth-context.ts";
import { trustedKeys } from "../authority/trusted-keys.ts";
import { failedReloadWarning } from "../inventory/proxy-reports.ts";
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
export function clusterWarnings(context: AuthContext): readonly string[] {
  const { channels, proxies, proxyReports, presence, shipping } = context;
  const named = (proxy: string): string => proxies.addressOf(proxy) ?? proxy;
  const failed = context.failedReload();
  return [
    ...channels.warnings(named),
    ...proxyReports.warnings(named),
    ...(failed === undefined ? [] : [failedReloadWarning("the auth service", failed)]),
    ...goneWarnings(presence.absent.values()),
    ...shipping.warnings(),
  ];
}

/** Of the proxies' web addresses, JSON each. */
export function webCertificates({ proxies, proxyReports }: AuthContext): string[] {
  return proxyReports.certificates().map((one) => JSON.stringify({ ...one, proxy: proxies.addressOf(one.proxy) ?? one.proxy }));
}
