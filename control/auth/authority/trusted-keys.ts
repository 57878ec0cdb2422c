import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AuthorityBundleSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import type { Authorities, TrustedAuthority } from "./open-authorities.ts";

/**
 * Public halves of all keys that are trusted, as peers store them. In each list the signing one comes first. `authorities` has every kind; peers of the
 * version before read the other four lists.
 */
export function trustedKeys({ user, host, all }: Pick<Authorities, "user" | "host" | "all">) {
  return {
    hostCaPem: pems(host),
    userCaPem: pems(user),
    hostCaSsh: sshLines(host),
    userCaSsh: sshLines(user),
    authorities: all.map((one) => ({ kind: one.kind, pem: pems(one), ssh: sshLines(one) }) satisfies MessageInitShape<typeof AuthorityBundleSchema>),
  };
}

function pems({ trusted }: TrustedAuthority): string[] {
  return trusted.map(({ pem }) => pem);
}

function sshLines({ trusted }: TrustedAuthority): string[] {
  return trusted.map(({ sshPublicLine }) => sshPublicLine).filter((line) => line !== "");
}
