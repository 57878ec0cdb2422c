import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PlatformError } from "../errors/platform-error.ts";

/** Where Kubernetes puts a pod's service account. */
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Age at which the files are read again, ms: Kubernetes replaces a token long before it expires. */
const maxAgeMs = 60_000;
/** Longest file that is read, bytes. */
const maxFile = 1024 * 1024;

export interface InClusterOptions {
  readonly folder?: string;
  /** Monotonic, ms. */
  readonly steady?: () => number;
}

/** What a pod presents to the API server, and what it expects of it. */
export interface PodCredentials {
  readonly token: string;
  /** Authorities of the API server's certificate, PEM. */
  readonly caPem: string;
}

/** The API server of the cluster in which this process is a pod. */
export interface InCluster {
  /** Address or name, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Namespace of the pod. */
  readonly namespace: string;
  /** As of at most a minute ago; those before while the files cannot be read. Throws `unavailable` while they never could. */
  credentials(): Promise<PodCredentials>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Whether a process with this environment is a pod of a Kubernetes cluster. Pure. */
export function isInCluster(env: Env): boolean {
  return (env.KUBERNETES_SERVICE_HOST ?? "") !== "";
}

/** Finds the API server as Kubernetes describes it to a pod. Throws `invalid` outside a pod, and for a pod without a service account. */
export async function inCluster(
  env: Env,
  { folder = serviceAccountFolder, steady = () => performance.now() }: InClusterOptions = {},
): Promise<InCluster> {
  if (!isInCluster(env))
    throw new PlatformError("invalid", "this process is not in a Kubernetes cluster: KUBERNETES_SERVICE_HOST is not set", {
      hint: "run it in a pod, or configure a kubeconfig file",
    });
  const host = (env.KUBERNETES_SERVICE_HOST ?? "").replace(/^\[(.*)\]$/, "$1");
  const port = Number(env.KUBERNETES_SERVICE_PORT ?? "443");
  if (!/^[A-Za-z0-9.:_%-]{1,253}$/.test(host) || !Number.isInteger(port) || port < 1 || port > 65_535)
    throw new PlatformError("invalid", "the API server's address cannot be read: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is malformed");
  const keeper = new CredentialsKeeper(folder, steady);
  const [, namespace] = await Promise.all([keeper.current(), readPart(folder, "namespace")]).catch((cause: unknown) => {
    const hint = "the pod needs a service account: automountServiceAccountToken must not be false";
    throw new PlatformError("invalid", `could not read the pod's service account in ${folder}`, { cause, hint });
  });
  return { host, port, namespace, credentials: async () => await keeper.current() };
}

/** Reads the files again as they age, once for all who ask meanwhile. */
class CredentialsKeeper {
  readonly #folder: string;
  readonly #steady: () => number;
  #known: PodCredentials | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<PodCredentials> | undefined;

  constructor(folder: string, steady: () => number) {
    this.#folder = folder;
    this.#steady = steady;
  }

  async current(): Promise<PodCredentials> {
    const known = this.#known;
    if (known !== undefined && this.#steady() - this.#readAt < maxAgeMs) return known;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    try {
      return await this.#reading;
    } catch (thrown) {
      if (known !== undefined) return known;
      throw thrown;
    }
  }

  async #read(): Promise<PodCredentials> {
    const [token, caPem] = await Promise.all([readPart(this.#folder, "token"), readPart(this.#folder, "ca.crt")]);
    this.#known = { token, caPem };
    this.#readAt = this.#steady();
    return this.#known;
  }
}

/** One file without white space around it. Throws `unavailable`, also for an empty one: a token goes into a header as it is. */
async function readPart(folder: string, name: string): Promise<string> {
  const path = join(folder, name);
  let text: string;
  try {
    text = (await readFile(path, "utf8")).trim();
  } catch (cause) {
    throw new PlatformError("unavailable", `could not read ${path}`, { cause });
  }
  const isFit = text.length > 0 && text.length <= maxFile && (name === "ca.crt" || /^[\x21-\x7e]+$/.test(text));
  if (!isFit) throw new PlatformError("unavailable", `${path} is empty, or is not a service account file`);
  return text;
}
