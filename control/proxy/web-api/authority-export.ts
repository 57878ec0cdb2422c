import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface Authorities {
  readonly clusterName: string;
  readonly hostCaPem: readonly string[];
  readonly userCaPem: readonly string[];
  readonly hostCaSsh: readonly string[];
  readonly userCaSsh: readonly string[];
}

/**
 * Public halves of the authorities, in the formats of the programs that use them: PEM for `tls-host` and `tls-user`; lines for
 * known_hosts for `host`; lines for sshd's TrustedUserCAKeys for `user`. Throws `invalid` for another type.
 */
export function exportAuthority(type: string, authorities: Authorities): string {
  const joined = (parts: readonly string[]): string => parts.map((part) => `${part.trim()}\n`).join("");
  switch (type) {
    case "tls-host":
      return joined(authorities.hostCaPem);
    case "tls-user":
      return joined(authorities.userCaPem);
    case "host":
      return joined(authorities.hostCaSsh.map((line) => `@cert-authority *.${authorities.clusterName} ${keyOf(line)}`));
    case "user":
      return joined(authorities.userCaSsh.map((line) => `${keyOf(line)} ${authorities.clusterName}`));
    default:
      throw new PlatformError("invalid", `unknown authority type ${JSON.stringify(type.slice(0, 64))}`, {
        hint: "use type=host, user, tls-host or tls-user",
      });
  }
}

/** Type and key of a public key line, without its comment. */
function keyOf(line: string): string {
  return line.trim().split(/\s+/).slice(0, 2).join(" ");
}
