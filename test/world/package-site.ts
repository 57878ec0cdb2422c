import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { makeCertificate } from "./http-proxy/make-certificate.ts";
import { type Machine, startMachine } from "./machine.ts";
import { openHostAddress } from "./machine-network.ts";
import type { MachineOptions } from "./machine-options.ts";
import { type PackageWorld, packageWorld } from "./package-world.ts";
import { type FolderServer, serveFolder } from "./package-world-server.ts";

/** A web server of this host, `control.test`, with a certificate of an authority of its own, that serves a repository. */
export interface PackageSite extends AsyncDisposable {
  /** `control.test:port`. */
  readonly proxy: string;
  readonly server: FolderServer;
  readonly caPem: string;
  /** For a test's own files; gone at the end. */
  readonly dir: string;
  /** A machine that knows its name, with scripts/install.sh and the authority's certificate in /tmp. */
  machine(options: MachineOptions): Promise<Machine>;
}

export async function openPackageSite(repository: string): Promise<PackageSite> {
  const host = await openHostAddress();
  const dir = await mkdtemp(join(tmpdir(), "platform-site-"));
  const certificate = await makeCertificate(dir, ["control.test"]);
  const server = await serveFolder(repository, host.address, certificate);
  return {
    proxy: `control.test:${server.port}`,
    server,
    caPem: certificate.caPem,
    dir,
    machine: async (options) => {
      const machine = await startMachine({ hosts: { "control.test": host.address }, ...options });
      await addInstallScript(machine, certificate.caPem);
      return machine;
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
      await rm(dir, { recursive: true });
    },
  };
}

/** It serves the package world. */
export async function openWorldSite(): Promise<PackageSite & { readonly world: PackageWorld }> {
  const world = await packageWorld();
  return { ...(await openPackageSite(world.repository)), world };
}

/** /tmp/install.sh and /tmp/ca.pem. */
export async function addInstallScript(machine: Machine, caPem: string): Promise<void> {
  await machine.write("/tmp/install.sh", await readFile(resolve(import.meta.dirname, "../../scripts/install.sh")));
  await machine.write("/tmp/ca.pem", caPem);
}
