import { exitCodes } from "../../core/errors/exit-code.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { loginCommand } from "../profile/profile.ts";
import { listProfiles, tshHome } from "../profile/profile-folder.ts";
import { describeProfile } from "./describe-profile.ts";

/** `tsh status`: shows the logins and their expiry. Exit status 3 when the current login is missing or expired. */
export async function status({ io }: Call): Promise<Result> {
  const now = new Date();
  const listed = await listProfiles(tshHome(io.env));
  const current = listed.find((profile) => profile.current);
  const others = listed.filter((profile) => !profile.current);
  const active = current?.facts === undefined ? undefined : describeProfile(current.facts, now);
  const profiles = others.flatMap(({ facts }) => (facts === undefined ? [] : [describeProfile(facts, now)]));
  const notes = listed
    .filter((profile) => profile.facts === undefined)
    .map((profile) => `the profile ${profile.name} is damaged: remove it with tsh logout, and log in again`);
  const data = { active: active?.data ?? null, profiles: profiles.map((profile) => profile.data) };
  const text = [active?.text, ...profiles.map((profile) => profile.text.replace("> ", "  "))].filter((part) => part !== undefined).join("\n\n");
  if (current?.facts === undefined) {
    return {
      data,
      text,
      notes: [...notes, "Not logged in. Log in with: tsh login --proxy=<host:port> --user=<name>"],
      status: exitCodes.unauthenticated,
    };
  }
  if (now < current.facts.validUntil) return { data, text, notes };
  return { data, text, notes: [...notes, `The login expired. Log in again with: ${loginCommand(current.facts)}`], status: exitCodes.unauthenticated };
}
