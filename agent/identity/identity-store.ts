import { z } from "zod";
import { loadCredentials, parseCredentials, saveCredentials, writtenCredentials } from "../../core/api/credential-store.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { inCluster } from "../../core/kubernetes/in-cluster.ts";
import { answeredJson, KubernetesApi, type KubernetesRequests } from "../../core/kubernetes/kubernetes-api.ts";
import type { Log } from "../../core/log/log.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";

/** Where a host keeps its identity. */
export interface IdentityStore {
  /** Undefined: it has none yet, and one could be saved. */
  load(): Promise<HostCredentials | undefined>;
  /** What another process of this host has saved. Changes nothing. */
  peek(): Promise<HostCredentials | undefined>;
  /** All or nothing. */
  save(credentials: HostCredentials): Promise<void>;
}

/** The file; in a pod of Kubernetes with PLATFORM_STATE_SECRET also that Secret, which outlives the pod. Throws `invalid` outside of a pod. */
export async function identityStore({ file, env, log }: { readonly file: string; readonly env: Env; readonly log: Log }): Promise<IdentityStore> {
  const load = (): Promise<HostCredentials | undefined> => loadCredentials(file);
  const disk = { load, peek: load, save: (credentials: HostCredentials) => saveCredentials(file, credentials) };
  const name = env.PLATFORM_STATE_SECRET;
  if (name === undefined || name === "") return disk;
  const cluster = await inCluster(env);
  return secretStore({
    disk,
    api: new KubernetesApi(cluster),
    path: `/api/v1/namespaces/${cluster.namespace}/secrets/${encodeURIComponent(name)}`,
    log,
  });
}

const key = "credentials.json";
const secretSchema = z.object({ data: z.record(z.string(), z.string()).nullish() });
/** Time for an answer, ms, and its largest size, bytes: Kubernetes allows 1 MiB of data, as base64. */
const [limitMs, maxSecret] = [10_000, 2 * 1024 * 1024];

interface SecretStoreOptions {
  /** Written too: for `platform doctor`, and for a container that starts again while the API server is away. */
  readonly disk: IdentityStore;
  readonly api: KubernetesRequests;
  readonly path: string;
  readonly log: Log;
}

/** A Secret as the place of an identity. The chart makes it, empty, so that a pod needs no permission to create one. */
export function secretStore({ disk, api, path, log }: SecretStoreOptions): IdentityStore {
  const patch = async (data: Readonly<Record<string, string>>, query = ""): Promise<void> => {
    const request = {
      method: "PATCH",
      path: `${path}${query}`,
      contentType: "application/merge-patch+json",
      timeoutMs: limitMs,
      maxBytes: maxSecret,
    } as const;
    answeredJson(await api.request({ ...request, body: { data } }), "could not write this pod's state Secret");
  };
  const read = async (): Promise<string | undefined> => {
    const answer = await api.request({ method: "GET", path, timeoutMs: limitMs, maxBytes: maxSecret });
    const secret = answeredJson(answer, "could not read this pod's state Secret");
    return secretSchema.parse(secret).data?.[key];
  };
  return {
    load: async () => {
      let held: string | undefined;
      try {
        held = await read();
        // A join uses up its token: an identity that cannot be kept must not be asked for.
        if (held === undefined) await patch({}, "?dryRun=All");
      } catch (thrown) {
        const local = isPassing(thrown) ? await disk.load() : undefined;
        if (local === undefined) throw explained(thrown);
        log.warn("could not read the state Secret; the identity of this container's last start is used", { error: errorText(thrown) });
        return local;
      }
      if (held === undefined) return undefined;
      const credentials = parseCredentials(Buffer.from(held, "base64").toString("utf8"), "the state Secret of this pod");
      await disk.save(credentials);
      return credentials;
    },
    peek: () => disk.peek(),
    save: async (credentials) => {
      await disk.save(credentials);
      try {
        await patch({ [key]: Buffer.from(writtenCredentials(credentials)).toString("base64") });
      } catch (thrown) {
        throw explained(thrown);
      }
    },
  };
}

function isPassing(thrown: unknown): boolean {
  return thrown instanceof PlatformError && (thrown.code === "unavailable" || thrown.code === "timeout");
}

function explained(thrown: unknown): unknown {
  if (!(thrown instanceof PlatformError) || (thrown.code !== "not_found" && thrown.code !== "denied")) return thrown;
  const hint =
    "upgrade the release with the number of replicas in highAvailability.replicaCount: the chart makes a Secret for each, and the permission for it";
  return new PlatformError(thrown.code, thrown.message, { cause: thrown, hint });
}
