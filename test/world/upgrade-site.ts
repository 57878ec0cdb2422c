import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { around, createTestAuthority } from "../../core/transport/dial/testing/test-certificate.ts";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";
import { makeCertificate } from "./http-proxy/make-certificate.ts";
import { startMachine } from "./machine.ts";
import { openHostAddress } from "./machine-network.ts";
import type { MachineOptions } from "./machine-options.ts";
import { type PackageWorld, packagedVersions, packageWorld } from "./package-world.ts";
import { UpgradeHost } from "./upgrade-host.ts";

/**
 * A cluster of this host that serves its packages itself, and has a channel for every packaged version: `now`, `next` …, and
 * each once more as `critical/<name>`.
 */
export interface UpgradeSite extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly world: PackageWorld;
  /** For hosts in a namespace of their own choice. */
  readonly caPem: string;
  /** A machine on which the README's three steps were done: install script, configuration, start. It is connected. */
  host(options?: HostOptions): Promise<UpgradeHost>;
  /** Several of them, made at once. */
  hosts(options: readonly HostOptions[]): Promise<UpgradeHost[]>;
}

export interface HostOptions extends MachineOptions {
  readonly edition?: "cloud" | "enterprise";
  /** Lines of /etc/default/platform. */
  readonly defaults?: string;
  /** Before the agent is started. */
  readonly prepare?: (host: UpgradeHost) => Promise<void>;
}

export interface SiteOptions {
  /** Folder of another repository than the packages' own. */
  readonly repository?: string;
  /** Where control listens, and in which namespace; default: an address of this host that every machine reaches. */
  readonly place?: { readonly netns: string; readonly address: string };
  /** How control is run, where not from the built executable. */
  readonly control?: Pick<ClusterOptions, "platform" | "env">;
  /** For how many days before and after now its certificate is valid; default: from now on for one. */
  readonly certificateDays?: number;
}

export async function openUpgradeSite({ repository, place, control, certificateDays }: SiteOptions = {}): Promise<UpgradeSite> {
  const world = await packageWorld();
  const stack = new AsyncDisposableStack();
  const { address } = place ?? stack.use(await openHostAddress());
  const dir = await mkdtemp(join(tmpdir(), "platform-upgrades-"));
  stack.defer(() => rm(dir, { recursive: true }));
  const certificate = certificateDays === undefined ? await makeCertificate(dir, [address]) : await longCertificate(dir, address, certificateDays);
  const proxyService = `  packages_dir: ${repository ?? world.repository}\n  automatic_upgrades_channels:\n${channels()}`;
  const cluster = stack.use(await startCluster({ netns: place?.netns, address, keypair: certificate, proxyService, ...control }));
  const host = async ({ edition = "enterprise", defaults = "", prepare, ...machine }: HostOptions = {}): Promise<UpgradeHost> => {
    const options = { ca: [certificate.caPem], binds: world.binds, ...machine };
    const made = new UpgradeHost(cluster, await startMachine(options));
    try {
      await made.install({ edition, defaults, prepare: () => prepare?.(made) });
      return made;
    } catch (thrown) {
      await made[Symbol.asyncDispose]();
      throw thrown;
    }
  };
  return {
    ...{ cluster, world, caPem: certificate.caPem, host },
    hosts: async (all) => {
      const made = await Promise.allSettled(all.map(host));
      const failed = made.find((one) => one.status === "rejected");
      const good = made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      if (failed === undefined) return good;
      for (const one of good) await one[Symbol.asyncDispose]();
      throw failed.reason;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function longCertificate(dir: string, address: string, days: number): Promise<{ certFile: string; keyFile: string; caPem: string }> {
  const authority = await createTestAuthority(around(days));
  const { cert, key } = await authority.issue({ type: "ip", value: address });
  const [certFile, keyFile] = [join(dir, "tls.crt"), join(dir, "tls.key")];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key, { mode: 0o600 });
  return { certFile, keyFile, caPem: authority.cert };
}

function channels(): string {
  return Object.entries(packagedVersions)
    .flatMap(([name, version]) => [
      `    ${name}: { static_version: v${version} }\n`,
      `    critical/${name}: { static_version: v${version}, critical: true }\n`,
    ])
    .join("");
}
