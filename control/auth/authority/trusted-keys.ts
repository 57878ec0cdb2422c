import type { Authorities } from "./open-authorities.ts";

/** Public halves of all keys that are trusted, as peers store them. In each list the signing one comes first. Peers of the version before read four lists. */
export function trustedKeys({ user, host, all }: Pick<Authorities, "user" | "host" | "all">) {
  return {
    hostCaPem: host.trusted.map(({ pem }) => pem),
    userCaPem: user.trusted.map(({ pem }) => pem),
    hostCaSsh: host.trusted.map(({ sshPublicLine }) => sshPublicLine),
    userCaSsh: user.trusted.map(({ sshPublicLine }) => sshPublicLine),
    authorities: all.map(({ kind, trusted }) => ({
      kind,
      pem: trusted.map(({ pem }) => pem),
      ssh: trusted.flatMap(({ sshPublicLine }) => (sshPublicLine === "" ? [] : [sshPublicLine])),
    })),
  };
}
