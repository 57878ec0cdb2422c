import { PlatformError } from "../../core/errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";

/** Of what kept us from a cluster whose authority an earlier login stored: when that no longer fits, how to trust the new one. */
export function otherAuthority(thrown: unknown, proxy: HostPort): unknown {
  const verdict = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_SIGNATURE_FAILURE$)/;
  for (let cause = thrown, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    if (!("code" in cause) || !verdict.test(String(cause.code))) continue;
    const where = formatHostPort(proxy);
    const message = `the cluster at ${where} shows another certificate authority than at the last login`;
    return new PlatformError("unauthenticated", message, {
      cause: thrown,
      hint: "if the cluster was set up anew, log in with the pin that `tctl status` prints there: --ca-pin=sha256:…; if not, somebody stands in between",
    });
  }
  return thrown;
}
