import { PlatformError } from "../../core/errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";

/** Turns a connection failure into a hint how to trust the new authority, when the one stored by an earlier login no longer fits. */
export function otherAuthority(thrown: unknown, proxy: HostPort): unknown {
  const verdict = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_SIGNATURE_FAILURE$)/;
  for (let cause = thrown, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    if (!("code" in cause) || !verdict.test(String(cause.code))) continue;
    const where = formatHostPort(proxy);
    const by = thrown instanceof Error ? (/ \(it is issued by ".*"\)$/.exec(thrown.message)?.[0] ?? "") : "";
    return new PlatformError("unauthenticated", `the cluster at ${where} shows another certificate authority than at the last login${by}`, {
      cause: thrown,
      hint: "if the authority was replaced since then (tctl auth rotate) or the cluster was set up again, log in with the pin that `tctl status` prints there: --ca-pin=sha256:…; if an HTTP proxy on the path inspects TLS, exempt this address from it; otherwise this may be a man-in-the-middle attack",
    });
  }
  return thrown;
}
