import type { X509Certificate } from "node:crypto";
import { opendir } from "node:fs/promises";
import { createServer, isIP } from "node:net";
import { join } from "node:path";
import { errorText } from "../core/errors/platform-error.ts";
import { expiryWarning, type WebCertificate } from "../core/resources/proxy-facts.ts";
import { listenError } from "../core/transport/arrivals/listen.ts";
import type { HostPort } from "../core/transport/host-port.ts";
import { checkClusterName } from "./auth/open-cluster.ts";
import type { ControlConfig, ProxyConfig } from "./config.ts";
import { openPair, renewHint, usedFor } from "./proxy/identity/key-pair.ts";

/**
 * Checks everything that a start of control would refuse, without starting: throws its PlatformError. Returns warnings.
 * `inUse`: certificates of the running process.
 */
export async function checkControl({ auth, proxy }: ControlConfig, inUse: readonly WebCertificate[], now = new Date()): Promise<readonly string[]> {
  if (auth !== undefined) checkClusterName(join(auth.dataDir, "auth", "state.sqlite"), auth.clusterName);
  for (const [setting, address] of listenAddresses({ auth, proxy })) await checkAddress(setting, address);
  return proxy === undefined ? [] : [...(await checkCertificates(proxy, inUse, now)), ...(await checkPackages(proxy))];
}

/** Addresses to listen on, by their settings. */
function listenAddresses({ auth, proxy }: Pick<ControlConfig, "auth" | "proxy">): readonly (readonly [setting: string, address: HostPort])[] {
  const { postgres, mysql, mongodb: mongo, redis } = proxy?.databases ?? {};
  const listens = { web: proxy?.webListen, "": proxy?.sshListen, tunnel: proxy?.tunnelListen, kube: proxy?.kubeListen };
  const databases = { postgres: postgres?.listen, mysql: mysql?.listen, mongo: mongo?.listen, redis: redis?.listen };
  const ofProxy = Object.entries({ ...listens, ...databases }).flatMap(([name, address]) =>
    address === undefined ? [] : [[`proxy_service.${name === "" ? "" : `${name}_`}listen_addr`, address] as const],
  );
  return [...(auth === undefined ? [] : [["auth_service.listen_addr", auth.listen] as const]), ...ofProxy];
}

/** Whether the host has the address. Ports are not tried: the running process uses them. */
async function checkAddress(setting: string, address: HostPort): Promise<void> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen({ host: address.host, port: 0 }, resolve);
  try {
    await promise;
  } catch (cause) {
    throw listenError(address, cause, setting);
  } finally {
    server.close();
  }
}

async function checkCertificates({ keypairs, publicAddr }: ProxyConfig, inUse: readonly WebCertificate[], now: Date): Promise<readonly string[]> {
  const leaves = await Promise.all(
    keypairs.map(async (files, index) => ({ files, leaf: (await openPair(files, usedFor({ files: keypairs, index, inUse }), now)).leaf })),
  );
  const expiring = leaves.flatMap(({ files, leaf }) => {
    const warning = expiryWarning({ from: leaf.validFromDate, until: leaf.validToDate }, now);
    return warning === undefined ? [] : [`the web certificate ${files.certFile} ${warning}; ${renewHint}`];
  });
  if (publicAddr === undefined || leaves.length === 0 || leaves.some(({ leaf }) => isFor(leaf, publicAddr.host))) return expiring;
  return [
    ...expiring,
    `no certificate of https_keypairs is for the public address ${publicAddr.host}: browsers, agents and updaters refuse it; add one for that name, or correct proxy_service.public_addr`,
  ];
}

function isFor(leaf: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host)) !== undefined;
}

async function checkPackages({ packagesDir }: ProxyConfig): Promise<readonly string[]> {
  if (packagesDir === undefined) return [];
  try {
    await (await opendir(packagesDir)).close();
    return [];
  } catch (thrown) {
    const why = `${packagesDir} cannot be read, so that no packages are served: ${errorText(thrown)}`;
    return [`proxy_service.packages_dir: ${why}; make the folder, or let the service's user read it`];
  }
}
