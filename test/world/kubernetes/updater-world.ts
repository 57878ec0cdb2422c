import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { imageKey, OciRegistry } from "../oci-registry.ts";
import { ApiRelay } from "./api-relay.ts";
import type { KubeAuditEvent, KubeWorld } from "./kube-world.ts";
import type { ReleaseParts } from "./release-updater.ts";
import { type ReleaseShape, UpdaterRelease } from "./updater-release.ts";
import { openVersionSite } from "./version-site.ts";

/**
 * Releases of the chart and what their updaters ask: a Kubernetes cluster, the version endpoint of a proxy, and a registry with the repository `p`. All of its
 * versions are signed by the releases' key but 1.4.0 (not signed) and 1.5.0 (by another key); 1.3.0-crash.1 and 1.3.0-missing.1 do not start.
 */
export class UpdaterWorld implements AsyncDisposable {
  readonly #parts: ReleaseParts;
  readonly #held: AsyncDisposableStack;
  readonly #accounts = new Set<string>();

  private constructor(parts: ReleaseParts, held: AsyncDisposableStack) {
    this.#parts = parts;
    this.#held = held;
  }

  /** It ends the cluster with itself. */
  static async open(world: KubeWorld): Promise<UpdaterWorld> {
    await using held = new AsyncDisposableStack();
    held.use(world);
    const folder = await mkdtemp(join(tmpdir(), "platform-kube-updater-"));
    held.defer(async () => await rm(folder, { recursive: true, force: true }));
    const site = held.use(await openVersionSite(folder));
    const registry = held.use(await new OciRegistry().listen());
    const key = imageKey();
    for (const version of ["1.0.0", "1.1.0", "1.2.0", "1.3.0-crash.1", "1.3.0-missing.1", "1.6.0", "2.0.0"]) {
      registry.sign("p", registry.publish("p", version), { key, version });
    }
    registry.publish("p", "1.4.0");
    registry.sign("p", registry.publish("p", "1.5.0"), { key: imageKey(), version: "1.5.0" });
    return new UpdaterWorld({ world, site, registry, key, folder }, held.move());
  }

  get site(): ReleaseParts["site"] {
    return this.#parts.site;
  }

  get registry(): OciRegistry {
    return this.#parts.registry;
  }

  /** A release of 1.0.0, whose pods are ready. */
  async install(replicas = 3, policy: ReleaseShape["policy"] = "Parallel"): Promise<UpdaterRelease> {
    const release = await UpdaterRelease.install(this.#parts, { replicas, policy });
    this.#accounts.add(`system:serviceaccount:${release.namespace}:agent-updater`);
    return release;
  }

  /** A way to the API server that a test can cut. */
  async relay(): Promise<ApiRelay> {
    return await ApiRelay.open(this.#parts.world);
  }

  /** Where a version without its digest is. */
  tagged(version: string): string {
    return `${this.registry.host}/p:${version}`;
  }

  /** Matches the image of a version as an updater sets it, with its digest. */
  imageOf(version: string): unknown {
    return expect.stringMatching(new RegExp(`^${this.tagged(version).replaceAll(".", "\\.")}@sha256:[0-9a-f]{64}$`));
  }

  /** What the updaters of all releases have asked the API server for. */
  async requests(): Promise<readonly KubeAuditEvent[]> {
    return await this.#parts.world.auditEvents(({ user }) => this.#accounts.has(user.username));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held.disposeAsync();
  }
}
