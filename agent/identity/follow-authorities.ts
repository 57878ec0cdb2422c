import { type ReportedKeys, type TrustedKeys, trustedDigest } from "../../core/api/trusted-keys.ts";
import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { AccessSource } from "../access/access-source.ts";

export interface AuthorityFollower {
  /** A proxy reports a digest of the authorities: they are fetched when it differs from this host's. */
  announced(digest: string): void;
  /** Fetches them after a refusal that a new authority may explain. Never throws. */
  ask(): Promise<void>;
}

/** A host's identity, as far as it holds the authorities. */
export interface KnownAuthorities {
  current(): TrustedKeys;
  learn(newest: ReportedKeys): void;
}

/** Keeps the authorities in this host's identity equal to the auth service's, until the signal. One request at a time. */
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
        (error: unknown) => log.debug("could not fetch the authorities", { error: errorText(error) }),
      )
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };
  return {
    announced: (digest) => {
      if (digest !== "" && digest !== trustedDigest(identity.current())) void ask();
    },
    ask,
  };
}
