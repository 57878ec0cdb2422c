import { stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { formatHostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import { chosenProfile, loadFacts, loadProfile } from "./choose-profile.ts";
import type { Profile } from "./profile.ts";
import { certificatesFolder, profilePaths, tshHome } from "./profile-folder.ts";

/** The profile of a command that runs for long. */
export interface ProfileSource {
  /** The profile as it is now: `tsh login` may have replaced it. Throws `unauthenticated` after a logout, and when it became the login of another user. */
  current(): Promise<Profile>;
  /** Asks for a one-time code, because this profile was refused for want of one. Left out: it is not asked for here. */
  confirm?(refused: Profile): Promise<Profile>;
  /** Gives up what was confirmed, as this profile was refused nevertheless: from another address, for example. The next connection is asked for a code. */
  forget?(refused: Profile): void;
}

/** How often a profile is read that is being replaced at this moment, and the delay between. */
const tries = 3;
const retryMs = 20;

/** Follows the files of a profile; the same user stays logged in at the same proxy, whatever profile is the current one later. */
export async function followProfile(call: Pick<Call, "io" | "options">, first: Profile): Promise<ProfileSource> {
  const paths = await pathsOf(call, first);
  let held = first;
  let seen = await stampOf(paths);
  return {
    current: async () => {
      const now = await stampOf(paths);
      if (now === seen) return held;
      const fresh = await readAgain(call, first);
      requireSame(first, fresh);
      held = fresh;
      seen = now;
      return fresh;
    },
  };
}

/** Files and folders that a login, and a certificate for one resource, replace. */
async function pathsOf({ io, options }: Pick<Call, "io" | "options">, { facts }: Profile): Promise<readonly string[]> {
  const identity = options.text("identity");
  if (identity !== undefined) return [identity];
  const home = tshHome(io.env);
  // The login may be at another proxy of the cluster than the one in use.
  const { proxy } = await loadFacts(home, facts.proxy);
  const certificates = certificatesFolder(home, proxy);
  return [join(profilePaths(home, proxy).folder, "profile.json"), ...["app", "db", "kube"].map((kind) => join(certificates, kind))];
}

async function readAgain(call: Pick<Call, "io" | "options">, { facts }: Profile): Promise<Profile> {
  for (let left = tries; ; left -= 1) {
    try {
      if (call.options.text("identity") !== undefined) return await chosenProfile(call);
      return await loadProfile(tshHome(call.io.env), facts.proxy);
    } catch (thrown) {
      if (left <= 1) throw thrown;
      await sleep(retryMs);
    }
  }
}

function requireSame({ facts }: Profile, { facts: fresh }: Profile): void {
  if (fresh.user === facts.user && fresh.cluster === facts.cluster) return;
  throw new PlatformError(
    "unauthenticated",
    `the login at ${formatHostPort(facts.proxy)} is now ${fresh.user}'s, and this command runs as ${facts.user}`,
    {
      hint: "start the command again",
    },
  );
}

async function stampOf(paths: readonly string[]): Promise<string> {
  const stamps = paths.map((path) =>
    stat(path, { bigint: true }).then(
      ({ ino, mtimeNs, size }) => `${ino} ${mtimeNs} ${size}`,
      () => "",
    ),
  );
  return (await Promise.all(stamps)).join("\n");
}
