import { openAuthClient } from "../../../core/api/auth-client.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import type { Call } from "../../command.ts";
import type { CliIo } from "../../io.ts";
import type { Result } from "../../output.ts";
import { dialProxy } from "../../profile/dial-proxy.ts";
import { otherAuthority } from "../../profile/other-authority.ts";
import { type Profile, requireValid } from "../../profile/profile.ts";
import { renderLabels, renderTable } from "../../table.ts";
import { chosenProfile } from "../with-profile.ts";

export interface ListedApp {
  readonly name: string;
  readonly labels: Labels;
  /** Connected hosts whose agents offer the application. */
  readonly hosts: readonly string[];
}

/** `tsh apps ls`. */
export async function listApps(call: Call): Promise<Result> {
  const apps = await usableApps(call.io, await chosenProfile(call));
  const rows = apps.map(({ name, labels, hosts }) => [name, String(hosts.length), renderLabels(labels)]);
  return { data: apps, text: renderTable(["Application", "Agents", "Labels"], rows), names: [...new Set(apps.map(({ name }) => name))] };
}

/** Applications that connected agents offer and that the user may reach, by name. Throws the auth service's refusal. */
export async function usableApps(io: CliIo, { facts, secrets, hostCaPem }: Profile): Promise<readonly ListedApp[]> {
  requireValid(facts, new Date());
  const credentials = { certificate: secrets.tlsCertificate, privateKey: secrets.tlsPrivateKey };
  using connection = openAuthClient({ open: () => dialProxy(facts, io), ca: hostCaPem, credentials });
  try {
    const { resources } = await connection.client.listOffered({ kind: "app" });
    return resources.map(({ name, labels, hostIds }) => ({ name, labels, hosts: hostIds }));
  } catch (thrown) {
    throw otherAuthority(thrown, facts.proxy);
  }
}
