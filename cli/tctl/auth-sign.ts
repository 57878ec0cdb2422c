import { X509Certificate } from "node:crypto";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Route, UserIdentity } from "../../core/identity/identity.ts";
import { fromX509Certificate } from "../../core/identity/x509-identity.ts";
import { parseDuration } from "../../core/resources/duration.ts";
import { parseCertificateLine } from "../../core/ssh/certificate.ts";
import type { Call, Options } from "../command.ts";
import { type Result, textResult } from "../output.ts";
import { encodeIdentityFile, type IdentityParts } from "../profile/identity-file.ts";
import { newKeys, requireFree, type SecretFile, writeSecrets } from "../secrets.ts";
import { withAdmin } from "./connect.ts";
import { isDatabaseFormat, signDatabase } from "./sign-database.ts";

export const signFormats = ["file", "openssh", "tls"] as const;
type SignFormat = (typeof signFormats)[number];

/** File name endings of `--out` in each format. */
const endings: Readonly<Record<SignFormat, readonly string[]>> = { file: [""], openssh: ["", "-cert.pub"], tls: [".key", ".crt", ".cas"] };
/** The service rounds to seconds; a smaller difference does not count as a shorter validity, ms. */
const roundingMs = 60_000;

/** `tctl auth sign`: keys made here, certificates of the authority, in files that only their owner may read. */
export async function signAuth(call: Call): Promise<Result> {
  const { options } = call;
  const wanted = options.text("format");
  if (isDatabaseFormat(wanted)) return await signDatabase(call, { format: wanted, ttlSeconds: ttlOf(options) });
  const user = options.text("user");
  const hosts = options.list("host");
  if ((user === undefined) === (hosts.length === 0)) {
    throw new PlatformError("invalid", "pass either --user or --host", { hint: "give --user=<name> or --host=<name>[,<name>]" });
  }
  const format = formatOf(options, hosts.length > 0);
  const out = options.text("out") ?? "";
  const paths = endings[format].map((ending) => `${out}${ending}`);
  if (!options.flag("overwrite")) await requireFree(paths);
  const ttlSeconds = ttlOf(options);
  const route = routeOf(options, { format, user });
  const signed =
    user === undefined ? await signHost(call, { hosts, ttlSeconds, out }) : await signUser(call, { user, ttlSeconds, format, out, route });
  await writeSecrets(signed.files);
  const until = signed.validBefore.toISOString();
  const notes = ttlSeconds > 0 && signed.validBefore.getTime() < Date.now() + ttlSeconds * 1000 - roundingMs ? [shortened(user)] : [];
  const named = user === undefined ? `host ${hosts[0]}` : `user ${user}`;
  return textResult(`Keys and certificates of ${named} have been written to ${paths.join(", ")}; they are valid until ${until}.`, notes);
}

interface Signed {
  readonly files: readonly SecretFile[];
  readonly validBefore: Date;
}

async function signUser(
  call: Call,
  ask: { user: string; ttlSeconds: number; format: SignFormat; out: string; route: Route | undefined },
): Promise<Signed> {
  const keys = newKeys();
  const { user, ttlSeconds, route } = ask;
  const limit = { routeKind: route?.kind ?? "", routeName: route?.name ?? "", routeAccount: route?.account ?? "" };
  const request = { user, sshPublicKey: keys.sshPublic, tlsPublicKey: keys.tlsPublic, ttlSeconds, ...limit };
  const { sshCertificate, tlsCertificate, cluster } = await withAdmin(call, ({ client }) => client.signUser(request));
  if (cluster === undefined) throw new PlatformError("unavailable", "the auth service's answer is incomplete");
  const { validBefore } = checkedIdentity(tlsCertificate, route);
  const ssh = { sshPrivateKey: route === undefined ? keys.sshPrivate : "", sshCertificate };
  const secrets = { ...ssh, tlsPrivateKey: keys.tlsPrivate, tlsCertificate };
  const parts = { secrets, cluster: cluster.clusterName, hostCaPem: cluster.hostCaPem, hostCaSsh: cluster.hostCaSsh };
  return { files: userFiles(ask, parts), validBefore };
}

/** Throws `unsupported` for a certificate that is good for more than was asked for: an older auth service overlooks the limit. */
function checkedIdentity(tlsCertificate: string, route: Route | undefined): UserIdentity {
  const identity = fromX509Certificate(new X509Certificate(tlsCertificate));
  if (identity.kind !== "user") throw new PlatformError("unavailable", "the auth service sent no user certificate");
  const { route: got } = identity;
  if (got?.kind === route?.kind && got?.name === route?.name && got?.account === route?.account) return identity;
  throw new PlatformError("unsupported", "the auth service is too old for certificates that are limited to one resource; nothing was written", {
    hint: "upgrade the auth service, or leave --only out",
  });
}

/** `--only=<kind>/<name>`, and `--db-user=<account>` of a database. */
function routeOf(options: Options, { format, user }: { format: SignFormat; user: string | undefined }): Route | undefined {
  const only = options.text("only");
  const account = options.text("dbUser");
  if (only === undefined && account === undefined) return undefined;
  if (only === undefined) {
    throw new PlatformError("invalid", "--db-user needs the database", { hint: "for example --only=db/orders --db-user=reader" });
  }
  if (user === undefined || format === "openssh") {
    throw new PlatformError("invalid", "--only is for certificates of users, and SSH has no such limit", {
      hint: "use --user with --format=file or tls",
    });
  }
  const [kind = "", ...rest] = only.split("/");
  const name = rest.join("/");
  if (kind !== "" && name !== "") return { kind, name, ...(account !== undefined && { account }) };
  throw new PlatformError("invalid", `--only: ${JSON.stringify(only)} is not a kind and a name`, { hint: "for example --only=app/orders" });
}

async function signHost(call: Call, { hosts, ttlSeconds, out }: { hosts: readonly string[]; ttlSeconds: number; out: string }): Promise<Signed> {
  const keys = newKeys();
  const request = { names: [...hosts], sshPublicKey: keys.sshPublic, ttlSeconds };
  const { sshCertificate } = await withAdmin(call, ({ client }) => client.signHost(request));
  return { files: opensshFiles(out, keys.sshPrivate, sshCertificate), validBefore: parseCertificateLine(sshCertificate).validBefore };
}

function userFiles({ format, out }: { format: SignFormat; out: string }, parts: IdentityParts): readonly SecretFile[] {
  const { secrets, hostCaPem } = parts;
  if (format === "file") return [{ path: out, text: encodeIdentityFile(parts) }];
  if (format === "openssh") return opensshFiles(out, secrets.sshPrivateKey, secrets.sshCertificate);
  return [
    { path: `${out}.key`, text: secrets.tlsPrivateKey },
    { path: `${out}.crt`, text: secrets.tlsCertificate },
    { path: `${out}.cas`, text: hostCaPem.join("") },
  ];
}

/** The names where ssh and sshd find a certificate beside its key. */
function opensshFiles(out: string, key: string, certificate: string): readonly SecretFile[] {
  return [
    { path: out, text: key },
    { path: `${out}-cert.pub`, text: `${certificate.trim()}\n` },
  ];
}

function formatOf(options: Options, isHost: boolean): SignFormat {
  const wanted = options.text("format") ?? (isHost ? "openssh" : "file");
  const format = signFormats.find((one) => one === wanted) ?? "file";
  if (isHost && format !== "openssh") {
    throw new PlatformError("invalid", `a host's certificate requires the format openssh, not ${format}`, { hint: "leave --format out" });
  }
  return format;
}

function ttlOf(options: Options): number {
  const text = options.text("ttl");
  const seconds = text === undefined ? 0 : parseDuration(text);
  if (text !== undefined && (seconds === 0 || seconds > 0xffff_ffff))
    throw new PlatformError("invalid", `--ttl: ${text} is not a valid validity period`);
  return seconds;
}

function shortened(user: string | undefined): string {
  if (user === undefined) return "The validity is shorter than --ttl: the maximum for a host is one year.";
  return `The validity is shorter than --ttl: the roles of ${user} allow no more (max_session_ttl; 30h where no role says anything, and never more than a year).`;
}
