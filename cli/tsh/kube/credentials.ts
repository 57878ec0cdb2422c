import { PlatformError } from "../../../core/errors/platform-error.ts";
import { parseHostPort } from "../../../core/transport/host-port.ts";
import type { Call } from "../../command.ts";
import { type Result, textResult } from "../../output.ts";
import { loadProfile } from "../../profile/choose-profile.ts";
import { execCredential } from "../../profile/exec-credential.ts";
import type { TlsCredentials } from "../../profile/profile.ts";
import { profileName, readFacts, tshHome } from "../../profile/profile-folder.ts";
import { type KubePlace, kubeCertificate } from "./kube-certificate.ts";

/**
 * `tsh kube credentials`, which kubectl runs for each command: the certificate for a Kubernetes cluster, from one file while that is valid. Prompts for
 * nothing. Throws `unauthenticated` when the login has expired.
 */
export async function kubeCredentials(call: Call): Promise<Result> {
  const { io, options } = call;
  const kube = options.text("kubeCluster") ?? "";
  const proxy = parseHostPort(options.text("proxy") ?? "", undefined, "--proxy");
  const place = { home: tshHome(io.env), proxy, kube };
  const credentials = await kubeCertificate(place, () => renewed(call, place));
  return textResult(execCredential(credentials, io.env.KUBERNETES_EXEC_INFO));
}

/** Another certificate from the auth service. */
async function renewed(call: Call, { home, proxy, kube }: KubePlace): Promise<TlsCredentials> {
  const facts = await readFacts(home, profileName(proxy));
  const cluster = call.options.text("platformCluster");
  if (facts !== undefined && cluster !== undefined && facts.cluster !== cluster) {
    throw new PlatformError(
      "unauthenticated",
      `the login at ${call.options.text("proxy")} is one to ${facts.cluster}, and this context is for ${cluster}`,
      {
        hint: "log in to the cluster's own proxy, and to the Kubernetes cluster again with: tsh kube login",
      },
    );
  }
  const profile = await loadProfile(home, proxy);
  const [{ withTrust }, { ownCertificate }, { storeCertificate }] = await Promise.all([
    import("../../profile/reach-cluster.ts"),
    import("../served/own-certificate.ts"),
    import("../../profile/store-certificate.ts"),
  ]);
  const certificate = await withTrust(call, profile, (trusting) => ownCertificate(call.io, trusting, { kind: "kube", name: kube }));
  // A login at another proxy of the cluster has its own place.
  if (facts !== undefined) await storeCertificate(home, proxy, certificate);
  return certificate;
}
