import type { X509Certificate } from "node:crypto";
import { opendir } from "node:fs/promises";
import { createServer, isIP } from "node:net";
import { join } from "node:path";
import { errorText, PlatformError } from "../core/errors/platform-error.ts";
import { expiryWarning, type WebCertificate } from "../core/resources/proxy-facts.ts";
import { formatHostPort, type HostPort } from "../core/transport/host-port.ts";
import { checkClusterName } from "./auth/open-cluster.ts";
import type { ControlConfig, ProxyConfig } from "./config.ts";
import { openPair, usedFor } from "./proxy/identity/key-pair.ts";

/**
 * Checks everything that a start of control would refuse, without starting: throws its PlatformError. Returns warnings.
 * `inUse`: certificates of the running process.
 */
export async function checkControl({ auth, proxy }: ControlConfig, inUse: readonly WebCertificate[], now = new Date()): Promise<readonly string[]> {
  if (auth !== undefined) checkClusterName(join(auth.dataDir, "auth", "state.sqlite"), auth.clusterName);
  const databases = Object.values(proxy?.databases ?? {}).map(({ listen }) => listen);
  const listens = [auth?.listen, proxy?.webListen, proxy?.sshListen, proxy?.tunnelListen, ...databases];
  for (const address of listens) if (address !== undefined) await checkAddress(address);
  return proxy === undefined ? [] : [...(await checkCertificates(proxy, inUse, now)), ...(await checkPackages(proxy))];
}

/** Whether the host has the address. Ports are not tried: the running process uses them. */
async function checkAddress(address: HostPort): Promise<void> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen({ host: address.host, port: 0 }, resolve);
  try {
    await promise;
  } catch (cause) {
    throw new PlatformError("unavailable", `could not listen on ${formatHostPort(address)}: ${errorText(cause)}`, { cause });
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
    return warning === undefined ? [] : [`the web certificate ${files.certFile} ${warning}`];
  });
  if (publicAddr === undefined || leaves.length === 0 || leaves.some(({ leaf }) => isFor(leaf, publicAddr.host))) return expiring;
  return [...expiring, `no certificate of https_keypairs is for the public address ${publicAddr.host}: browsers, agents and updaters refuse it`];
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
    return [`proxy_service.packages_dir: ${packagesDir} cannot be read, so that no packages are served: ${errorText(thrown)}`];
  }
}
