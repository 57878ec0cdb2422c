import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { CliIo } from "../../io.ts";
import type { ProfileSource } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { type CodeTarget, confirmedProfile, isMfaRequired } from "../session-code.ts";

/**
 * The login of a tunnel: where the cluster demands a one-time code for its resource, one is asked for once, and the certificate serves all connections of the
 * tunnel until the login expires or a newer one takes its place. It is in memory alone.
 */
export function confirmedSource(io: CliIo, source: ProfileSource, target: CodeTarget): Required<ProfileSource> {
  let held: { readonly login: string; readonly profile: Profile } | undefined;
  let asking: Promise<Profile> | undefined;
  const withHeld = (login: Profile): Profile => {
    if (held?.login !== login.secrets.tlsCertificate) return login;
    const { secrets, own } = held.profile;
    // The authorities are those of now.
    return { ...login, secrets, ...(own && { own }), certificates: [] };
  };
  const ask = async (login: Profile): Promise<Profile> => {
    const profile = await confirmedProfile(io, login, target);
    held = { login: login.secrets.tlsCertificate, profile };
    return profile;
  };
  return {
    current: async () => withHeld(await source.current()),
    confirm: async (refused) => {
      const login = await source.current();
      const now = withHeld(login);
      // Another connection has asked meanwhile.
      if (now !== login && now.secrets.tlsCertificate !== refused.secrets.tlsCertificate) return now;
      asking ??= ask(login).finally(() => {
        asking = undefined;
      });
      return await asking;
    },
    forget: ({ secrets }) => {
      if (held?.profile.secrets.tlsCertificate === secrets.tlsCertificate) held = undefined;
    },
  };
}

/** Opens with the login of now; where a code is demanded, once more when it is confirmed. */
export async function openWithCode<T>(source: ProfileSource, profile: Profile, open: (profile: Profile) => Promise<T>): Promise<T> {
  try {
    return await open(profile);
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "denied") source.forget?.(profile);
    if (source.confirm === undefined || !isMfaRequired(thrown)) throw thrown;
    return await open(await source.confirm(profile));
  }
}

/** Asks before anything else reads from the terminal, where it is known that a code is needed. */
export async function confirmFirst(source: ProfileSource, needsCode: boolean | undefined): Promise<void> {
  if (needsCode === true) await source.confirm?.(await source.current());
}
