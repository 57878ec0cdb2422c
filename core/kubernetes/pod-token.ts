import { open } from "node:fs/promises";
import { PlatformError } from "../errors/platform-error.ts";

/** Where the chart mounts the token that a pod joins with; the reference's path and variable. */
const usualPath = "/var/run/secrets/tokens/join-sa-token";
const maxToken = 16_384;

/** The service account's token that Kubernetes projects into this pod for joining, and renews. Read at each use. Throws `invalid` with what to do. */
export async function readPodToken(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const path = env.KUBERNETES_TOKEN_PATH || usualPath;
  const hint = "join_params.method: kubernetes needs a projected serviceAccountToken volume, which the chart platform-kube-agent makes";
  try {
    await using handle = await open(path);
    const bytes = Buffer.alloc(maxToken + 1);
    const { bytesRead } = await handle.read(bytes);
    const token = bytes.toString("utf8", 0, bytesRead).trim();
    if (token !== "" && bytesRead <= maxToken) return token;
  } catch (cause) {
    throw new PlatformError("invalid", `could not read the service account's token: ${(cause as Error).message}`, { cause, hint });
  }
  throw new PlatformError("invalid", `${path} does not hold a service account's token`, { hint });
}
