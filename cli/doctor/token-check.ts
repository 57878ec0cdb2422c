import { openAuthClient } from "../../core/api/auth-client.ts";
import { fetchTrust } from "../../core/api/fetch-trust.ts";
import { trustByPin } from "../../core/api/trust.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import type { HostPort } from "../../core/transport/host-port.ts";
import { version } from "../../core/versions/version.ts";
import type { Said } from "./examination.ts";

export interface TokenAsk {
  readonly target: HostPort;
  readonly env: Env;
  readonly token: string;
  readonly pins: readonly string[];
  /** The name that the host will have. */
  readonly hostname: string;
  readonly names: readonly string[];
  /** Services that it wants to offer. */
  readonly services: readonly string[];
}

/**
 * Whether the auth service would let this host join with its token, which is not used up. The token is sent as in a join: only to a
 * trusted auth service. Undefined: an older one cannot answer. Throws PlatformError.
 */
export async function examineToken({ target, env, token, pins, hostname, names, services }: TokenAsk): Promise<Said | undefined> {
  const open = () => dial(target, { env });
  const ca = pins.length > 0 ? [await trustByPin({ open, pins })] : await fetchTrust(target, { env });
  using connection = openAuthClient({ open, ca });
  try {
    const { expires, usesLeft } = await connection.client.checkJoin({
      token,
      role: "node",
      hostname,
      names: [...names],
      services: [...services],
      version,
    });
    const uses = usesLeft === undefined ? "" : `, for ${usesLeft} more ${usesLeft === 1 ? "host" : "hosts"}`;
    return { says: `the auth service takes the join token for ${hostname}: it is valid until ${expires}${uses}` };
  } catch (thrown) {
    // The remedy for this host's version.
    if (thrown instanceof PlatformError && thrown.code === "unsupported" && thrown.hint === undefined) return undefined;
    throw thrown;
  }
}
