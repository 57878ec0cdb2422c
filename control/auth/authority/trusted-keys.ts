import type { Authorities } from "./open-authorities.ts";

/** Public halves of all keys that are trusted, as peers store them. In each list the signing one comes first. */
export function trustedKeys({ user, host }: Pick<Authorities, "user" | "host">) {
  return {
    hostCaPem: host.trusted.map(({ pem }) => pem),
    userCaPem: user.trusted.map(({ pem }) => pem),
    hostCaSsh: host.trusted.map(({ sshPublicLine }) => sshPublicLine),
    userCaSsh: user.trusted.map(({ sshPublicLine }) => sshPublicLine),
  };
}
