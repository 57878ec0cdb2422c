import type { HostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { listProfiles, loadFacts, type NamedProxy, profileName, removeProfile, tshHome } from "../profile/profile-folder.ts";
import { proxyOption } from "./with-profile.ts";

/** `tsh logout`: deletes keys and certificates, of one proxy or of all. */
export async function logout(call: Call): Promise<Result> {
  const home = tshHome(call.io.env);
  const proxy = proxyOption(call);
  const names = proxy === undefined ? (await listProfiles(home)).map((profile) => profile.name) : [profileName(await storedProxy(home, proxy))];
  const removed: string[] = [];
  for (const name of names) if (await removeProfile(home, name)) removed.push(name);
  const text = removed.length === 0 ? "Nobody was logged in." : `Logged out of ${removed.map((name) => name.replace(/_(\d+)$/, ":$1")).join(", ")}.`;
  return { data: { removed }, text };
}

/** Without a port, the port of the existing profile. A damaged profile is found by the typed name. */
async function storedProxy(home: string, proxy: NamedProxy): Promise<HostPort> {
  const facts = await loadFacts(home, proxy).catch(() => undefined);
  return facts?.proxy ?? proxy;
}
