import { type TrustedKeys, trustedDigest } from "../core/api/trusted-keys.ts";
import { errorText } from "../core/errors/platform-error.ts";
import type { Log } from "../core/log/log.ts";
import type { AccessSource } from "./access/access-source.ts";

export interface AuthorityFollower {
  /** A proxy says by a digest which authorities there are: others than this host knows are fetched. */
  told(digest: string): void;
  /** Fetches them: something was refused that a new authority may explain. Never throws. */
  ask(): Promise<void>;
}

/** A host's identity, as far as it holds the authorities. */
export interface KnownAuthorities {
  current(): TrustedKeys;
  learn(newest: TrustedKeys): void;
}

/** What the auth service says of the authorities becomes part of this host's identity, until the signal. One question at a time. */
export function followAuthorities(
  { access, identity, log }: { access: Pick<AccessSource, "follow" | "refresh">; identity: KnownAuthorities; log: Log },
  signal: AbortSignal,
): AuthorityFollower {
  let asking: Promise<void> | undefined;
  access.follow((newest) => identity.learn(newest), signal);
  const ask = (): Promise<void> => {
    asking ??= access
      .refresh()
      .then(
        () => {},
        (error: unknown) => log.debug("the authorities cannot be fetched now", { error: errorText(error) }),
      )
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };
  return {
    told: (digest) => {
      if (digest !== "" && digest !== trustedDigest(identity.current())) void ask();
    },
    ask,
  };
}
