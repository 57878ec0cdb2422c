import { PlatformError } from "../../../core/errors/platform-error.ts";

/** The two names that a path may begin with: of this platform's cluster, and of the Kubernetes cluster. */
export interface KubePlaceNames {
  readonly cluster: string;
  readonly kubeCluster: string;
}

export interface StrippedTarget {
  /** For the API server: the client's bytes, without the prefix. */
  readonly target: string;
  /** What was in front of it; empty if nothing. */
  readonly prefix: string;
}

const start = "/v1/kube/";

/**
 * The target of a request without `/v1/kube/<platform cluster>/<kube cluster>`, both in base64url, which keeps the caches of kubectl apart. Throws `denied` when
 * it names another cluster than the user's certificate. Pure.
 */
export function stripPrefix(target: string, { cluster, kubeCluster }: KubePlaceNames): StrippedTarget {
  if (!target.startsWith(start)) return { target, prefix: "" };
  const [, one = "", other = "", rest = ""] = /^([^/?]*)\/([^/?]*)(.*)$/s.exec(target.slice(start.length)) ?? [];
  if (decodedName(one) !== cluster || decodedName(other) !== kubeCluster)
    throw new PlatformError("denied", `access denied: the path of the request names another cluster than ${kubeCluster}`, {
      hint: "write the kubeconfig again with: tsh kube login",
    });
  return { target: rest.startsWith("/") ? rest : `/${rest}`, prefix: `${start}${one}/${other}` };
}

/** Undefined for anything but the canonical base64url of a name. */
function decodedName(text: string): string | undefined {
  const name = Buffer.from(text, "base64url");
  return text !== "" && name.toString("base64url") === text ? name.toString("utf8") : undefined;
}
