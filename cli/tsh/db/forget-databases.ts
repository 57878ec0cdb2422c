import { doAll } from "../../do-all.ts";
import type { CliIo } from "../../io.ts";
import type { ProfileFacts } from "../../profile/profile.ts";
import { tshHome } from "../../profile/profile-folder.ts";
import { removeClientSettings } from "./client-files.ts";
import { changingLogins, databaseLogins, saveDatabaseLogins } from "./database-logins.ts";

/** Removes the settings of all databases of these logins, for `tsh logout`. Certificates go with the profiles. Throws what it could not remove, at the end. */
export async function forgetDatabases(env: CliIo["env"], profiles: readonly ProfileFacts[]): Promise<void> {
  const home = tshHome(env);
  const forget = async (facts: ProfileFacts): Promise<void> => {
    const names = (await databaseLogins(home, facts)).map(({ name }) => name);
    if (names.length === 0) return;
    await changingLogins(home, async () => {
      await removeClientSettings(env, facts.cluster, names);
      await saveDatabaseLogins(home, facts, []);
    });
  };
  await doAll(profiles.map((facts) => () => forget(facts)));
}
