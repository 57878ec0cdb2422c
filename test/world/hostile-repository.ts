import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { makePackages } from "../../scripts/package/make-packages.ts";
import { publishRepository } from "../../scripts/repository/publish.ts";
import { openHostAddress } from "./machine-network.ts";
import { output } from "./program.ts";
import { makeTestKey } from "./stand-in-packages.ts";

/**
 * How the repository is served: `good`; `tampered`: its index was changed after it was signed; `wrong_key`: signed by an unknown key;
 * `expired`: an index of long ago; `bad_package`, `no_package`: packages changed, or not there; `unsigned_package`: rpms without a
 * signature, in an index that is well and signed; `gone`: nothing is there;
 * `portal`: a login page in place of everything.
 */
export type Served = "good" | "tampered" | "wrong_key" | "expired" | "bad_package" | "no_package" | "unsigned_package" | "gone" | "portal";

export interface HostileRepository extends AsyncDisposable {
  /** Of this host, which machines reach. */
  readonly address: string;
  /** `http://address:port/<served>`, with apt/ and yum/ below. */
  url(served: Served): string;
  /** Armored. */
  readonly key: string;
  /** Paths asked for so far. */
  readonly asked: readonly string[];
}

export const hostileVersions = ["1.0.0", "1.1.0", "1.2.0-rc.1"] as const;

/** Our packages with stand-ins for the executables, in three versions, served in all these ways. */
export async function openHostileRepository(): Promise<HostileRepository> {
  const host = await openHostAddress();
  const dir = await mkdtemp(join(tmpdir(), "platform-hostile-"));
  const [ours, stranger, packages] = [join(dir, "ours"), join(dir, "stranger"), join(dir, "packages")];
  await makeTestKey(ours, "Packages Test");
  await makeTestKey(stranger, "Stranger");
  for (const version of hostileVersions) await pack(join(dir, "programs", version), packages, version);
  const longAgo = new Date(Date.now() - 400 * 86_400_000);
  const publish = (out: string, gnupghome: string, now: Date): Promise<unknown> =>
    publishRepository({ packages, out: join(dir, out), keys: { gnupghome }, now, prereleases: true });
  await publish("good", ours, new Date());
  await publish("expired", ours, longAgo);
  await publish("wrong_key", stranger, new Date());
  await takeSignatures(join(dir, "good"), join(dir, "unsigned_package"), ours);
  const asked: string[] = [];
  const server = serve(dir, asked).listen(0, host.address);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: host.address,
    url: (served) => `http://${host.address}:${port}/${served}`,
    key: await readFile(join(dir, "good/keys/platform.asc"), "utf8"),
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      for (const home of [ours, stranger]) await output("gpgconf", ["--homedir", home, "--kill", "all"]);
      await rm(dir, { recursive: true, force: true });
      await host[Symbol.asyncDispose]();
    },
  };
}

/** A copy in which no rpm is signed, but the index, recreated for them, is. */
async function takeSignatures(from: string, to: string, gnupghome: string): Promise<void> {
  const steps = `cp --recursive --dereference "$0/." "$1"
for folder in "$1"/yum/*/*/*; do
  find "$folder/Packages" -name '*.rpm' -exec rpmsign --delsign {} + >/dev/null
  rm -r "$folder/repodata"
  createrepo_c --quiet --no-database --general-compress-type gz "$folder"
  gpg --homedir "$2" --batch --quiet --armor --detach-sign "$folder/repodata/repomd.xml"
  cp "$1/keys/platform.asc" "$folder/repodata/repomd.xml.key"
done`;
  await output("sh", ["-ec", steps, from, to, gnupghome]);
}

/** Executables that say their version, with enough behind it that unpacking takes a while. */
async function pack(work: string, out: string, version: string): Promise<void> {
  await mkdir(work, { recursive: true });
  const programs = { executable: join(work, "platform"), updater: join(work, "platform-upgrade"), pty: join(work, "pty.node") };
  for (const [name, path] of [["platform", programs.executable] as const, ["platform-upgrade", programs.updater] as const]) {
    const script = Buffer.from(`#!/bin/sh\necho "${name} ${version}"\nexit\n`);
    await writeFile(path, Buffer.concat([script, Buffer.alloc(bulk, version)]));
  }
  await writeFile(programs.pty, "");
  const arch = process.arch === "arm64" ? "arm64" : "x64";
  const root = resolve(import.meta.dirname, "../..");
  await makePackages({ root, out, version, arch, formats: ["deb", "rpm"], fast: true, epoch: 1_790_000_000, ...programs });
}

const bulk = 20_000_000;

function serve(dir: string, asked: string[]): Server {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://x");
    asked.push(pathname);
    void answer(dir, decodeURIComponent(pathname)).then((body) => {
      if (body === undefined) response.writeHead(404).end();
      else response.writeHead(200, { "content-length": body.length }).end(body);
    });
  });
}

async function answer(dir: string, path: string): Promise<Buffer | undefined> {
  const [, served = "", ...rest] = path.split("/");
  const isPackage = /\.(deb|rpm)$/.test(path);
  if (served === "portal") return Buffer.from("<html><title>Please sign in</title></html>");
  if (served === "gone" || (served === "no_package" && isPackage)) return undefined;
  const tree = served === "expired" || served === "wrong_key" || served === "unsigned_package" ? served : "good";
  const body = await readFile(join(dir, tree, ...rest)).catch(() => undefined);
  if (body === undefined) return undefined;
  if (served === "bad_package" && isPackage) body[body.length - 100] = (body[body.length - 100] ?? 0) ^ 255;
  if (served === "tampered" && path.endsWith("/InRelease")) return Buffer.from(body.toString().replace("access platform", "excess platform"));
  if (served === "tampered" && path.endsWith("/repomd.xml")) return Buffer.concat([body, Buffer.from("\n")]);
  return body;
}
