import { caPin } from "../../core/api/ca-pin.ts";
import type { RotationsResponse } from "../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { bundlesOf, exportedKeys } from "../../core/api/trusted-keys.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { authorityExports, authorityNames } from "../../core/kinds/authority-kinds.ts";
import { readDocuments } from "../../core/resources/document.ts";
import { parseDuration } from "../../core/resources/duration.ts";
import { type Rotation, rotationDocument } from "../../core/resources/rotation.ts";
import { sshFingerprint } from "../../core/ssh/keys.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { hostPatterns, knownHostsLines } from "../profile/profile.ts";
import { renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";

/** `tctl auth export`: public keys of the authorities, in the format of their readers. */
export async function exportAuthority(call: Call): Promise<Result> {
  const type = call.options.text("type") ?? "host";
  const hosts = call.options.list("hosts");
  if (hosts.length > 0 && type !== "host") throw new PlatformError("invalid", "--hosts is only for --type=host", { hint: "leave it out" });
  return await withAdmin(call, async ({ client }) => {
    const cluster = await client.getCluster({});
    const known = authorityExports.find((one) => one.type === type);
    if (known === undefined) throw new PlatformError("invalid", `unknown authority type ${type}`);
    const patterns = hosts.length > 0 ? hosts : hostPatterns(cluster.clusterName);
    const forms = {
      known_hosts: (line: string) => ({ entry: knownHostsLines(patterns, [line], cluster.clusterName).join(""), fingerprint: sshFingerprint(line) }),
      ssh_keys: (line: string) => ({
        entry: `${line.trim().split(/\s+/).slice(0, 2).join(" ")} ${cluster.clusterName}-${known.authority}-ca`,
        fingerprint: sshFingerprint(line),
      }),
      pem: (pem: string) => ({ entry: pem.trim(), fingerprint: caPin(pem) }),
    };
    const keys = exportedKeys(bundlesOf(cluster), known).map((key) => forms[known.form](key));
    const wanted = call.options.text("fingerprint");
    const chosen = keys.filter(({ fingerprint }) => wanted === undefined || fingerprint === wanted);
    if (chosen.length === 0) {
      throw new PlatformError("not_found", `no key of ${type} has the fingerprint ${wanted}`, {
        hint: `there are ${keys.map(({ fingerprint }) => fingerprint).join(", ")}`,
      });
    }
    const [entries, fingerprints] = [chosen.map(({ entry }) => entry), chosen.map(({ fingerprint }) => fingerprint)];
    return { data: { type, cluster: cluster.clusterName, entries, fingerprints }, text: entries.join("\n") };
  });
}

/** `tctl auth rotate`: starts a rotation, or takes its next step. */
export async function rotateAuthority(call: Call): Promise<Result> {
  const { options } = call;
  // As `tctl auth export` spells it.
  const authority = options.text("type") === "db-client" ? "db_client" : options.text("type");
  if (authority === undefined)
    throw new PlatformError("invalid", "no authority was given", { hint: `give ${authorityNames.map((name) => `--type=${name}`).join(" or ")}` });
  const phase = options.text("phase") ?? (options.flag("manual") ? "init" : "");
  const grace = options.text("gracePeriod");
  const graceSeconds = grace === undefined ? 0 : parseDuration(grace);
  if (graceSeconds > 0xffff_ffff || (grace !== undefined && graceSeconds === 0))
    throw new PlatformError("invalid", `--grace-period: ${grace} is not a valid grace period`);
  return await withAdmin(call, async ({ client }) => {
    return shown(readRotations(await client.rotateAuthority({ authority, phase, graceSeconds, manual: options.flag("manual") })));
  });
}

/** `tctl auth rotate status`. */
export async function rotationStatus(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client }) => shown(readRotations(await client.getRotations({}))));
}

/** All rotations of an answer. Throws PlatformError for one that cannot be read. */
export function readRotations({ rotationsJson, serviceRotationsJson }: RotationsResponse): readonly Rotation[] {
  return readDocuments(rotationDocument, [...rotationsJson, ...serviceRotationsJson]);
}

function shown(rotations: readonly Rotation[]): Result {
  return { data: rotations, text: rotationsText(rotations), notes: rotations.flatMap(serverWork) };
}

/** What database servers and applications need in a phase: nothing reaches them by itself. */
const needs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  db_client: {
    init: "before update_clients, give every database server both authorities (tctl auth export --type=db-client, its file .cas) and have it read them",
    update_clients: "agents log in by the new authority; a server that does not have it refuses them",
    update_servers: "agents log in by the new authority; after standby, give servers the file without the old one",
    rollback: "agents log in by the old authority again",
  },
  db: {
    init: "agents trust servers of both authorities from now on; certificates of servers are still signed by the old one",
    update_clients: "sign the certificate of every database server again (tctl auth sign --format=…) before standby, and have it read the new one",
    update_servers: "sign the certificates of database servers that still have one of the old authority: standby ends those",
    rollback: "sign certificates of servers that have one of the new authority again before standby",
  },
  jwt: {
    init: "proxies publish both keys (/.well-known/jwks.json); before update_clients, give applications that do not read them there the new one (tctl auth export --type=jwt)",
    update_clients: "tokens are signed by the new key; an application that keeps the old one alone refuses them",
    update_servers: "tokens are signed by the new key; standby removes the old one from /.well-known/jwks.json",
    rollback: "tokens are signed by the old key again",
  },
};

function serverWork({ authority, phase, mode, next }: Rotation): readonly string[] {
  const need = needs[authority]?.[phase];
  if (need === undefined) return [];
  return [`${authority}: ${need}${mode === "automatic" && next !== undefined ? ` (the next phase begins by itself at ${next})` : ""}`];
}

/** A table of the phases, followed by every trusted key, and the hosts that lag behind. */
function rotationsText(rotations: readonly Rotation[]): string {
  const phases = rotations.map(({ authority, phase, mode, allowed, next, last_rotated: last }) => [
    authority,
    phase,
    phase === "standby" ? "" : mode,
    `${allowed.join(", ")}${next === undefined ? "" : ` (by itself at ${next})`}`,
    last ?? "never",
  ]);
  const keys = rotations.flatMap(({ authority, keys: all }) =>
    all.map((key, index) => [authority, index === 0 ? "signs" : "trusted", key.since, key.ssh_fingerprint ?? "", key.ca_pin]),
  );
  const table = renderTable(["Authority", "Phase", "Led", "Goes To", "Last Rotated"], phases);
  return `${table}\n\n${renderTable(["Authority", "Key", "Since", "SSH Fingerprint", "CA Pin"], keys)}${behindText(rotations)}`;
}

function behindText(rotations: readonly Rotation[]): string {
  const behind = rotations.flatMap((one) => one.behind ?? []);
  if (behind.length === 0) return "";
  const rows = behind.map(({ name, id, role }) => [name, id, role]);
  return `\n\nWithout a certificate of the key that signs; standby cuts them off:\n\n${renderTable(["Host", "Id", "Role"], rows)}`;
}
