import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetClusterResponseSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { writeDocument } from "../../../core/resources/document.ts";
import { proxyCertificateDocument } from "../../../core/resources/proxy-facts.ts";
import { version } from "../../../core/versions/version.ts";
import type { AuthContext } from "../auth-context.ts";
import { trustedKeys } from "../authority/trusted-keys.ts";
import { replacedWarning } from "../installed-version.ts";
import { refusedNames } from "../inventory/names-in-use.ts";
import { failedReloadWarning } from "../inventory/proxy-reports.ts";
import { sharedNames, sharedNameWarnings } from "../inventory/shared-names.ts";
import { versionWarnings } from "../inventory/version-warnings.ts";
import { findMaintenance } from "../maintenance/maintenance.ts";
import { clusterNameWarnings } from "../open-cluster.ts";
import { goneWarnings } from "../presence/gone-warning.ts";
import { unreadableRoleWarnings } from "../roles/stored-role.ts";

/** Public facts about the cluster. */
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

/** Warnings for an admin, a sentence each. */
export async function clusterWarnings(context: AuthContext): Promise<readonly string[]> {
  const { channels, proxies, proxyReports, presence, shipping, clusterName, storage, room, live } = context;
  const named = (proxy: string): string => proxies.addressOf(proxy) ?? proxy;
  const failed = context.failedReload();
  const replaced = await replacedWarning(version, { running: "/proc/self/exe", onDisk: process.execPath });
  return [
    ...room.warnings(),
    ...(replaced === undefined ? [] : [replaced]),
    ...clusterNameWarnings(clusterName),
    ...(await unreadableRoleWarnings(storage)),
    ...channels.warnings(named),
    ...channels.troubleWarnings(named),
    ...proxyReports.warnings(named),
    ...(failed === undefined ? [] : [failedReloadWarning("the auth service", failed)]),
    ...versionWarnings(
      [...live.all()].map(([, node]) => node),
      version,
    ),
    ...(await windowWarnings(context)),
    ...goneWarnings(presence.absent.values()),
    ...nameWarnings(await refusedNames(storage)),
    ...sharedNameWarnings(await sharedNames(context)),
    ...shipping.warnings(),
  ];
}

/** Certificates of the proxies' web addresses, JSON each. */
export function webCertificates({ proxies, proxyReports }: AuthContext): string[] {
  return proxyReports
    .certificates()
    .map((one) => writeDocument(proxyCertificateDocument, { ...one, proxy: proxies.addressOf(one.proxy) ?? one.proxy }));
}

/** Maximum number of hosts listed with a sentence each. */
const mostNamed = 5;

function nameWarnings(refused: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const shown = [...refused].slice(0, mostNamed).map(([id, why]) => `host ${id} did not get a name that it requested: ${why.join("; ")}`);
  const more = refused.size - mostNamed;
  return more > 0 ? [...shown, `${more} more hosts did not get a name that they requested: see tctl inventory status`] : shown;
}

async function windowWarnings({ live, storage }: AuthContext): Promise<readonly string[]> {
  const enrolled = [...live.all()].filter(([, { connected, status }]) => connected && status !== undefined && status.upgrader !== "none").length;
  if (enrolled === 0 || (await findMaintenance(storage)) !== undefined) return [];
  return [`no maintenance window: ${enrolled} hosts take critical versions only, until there is a cluster_maintenance_config (tctl create)`];
}
