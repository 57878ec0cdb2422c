import { openAuthClient } from "../../core/api/auth-client.ts";
import { trustByPin } from "../../core/api/trust.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import { dialWebPort } from "../../core/transport/upgrade/dial-web-port.ts";
import type { Call } from "../command.ts";
import { examineAnswer } from "../doctor/answer-checks.ts";
import { type CheckName, Examination, report, type Said } from "../doctor/examination.ts";
import { examinePath } from "../doctor/path-checks.ts";
import { examineTls, type TlsAsk } from "../doctor/tls-checks.ts";
import type { Result } from "../output.ts";
import { loadProfile, proxyOption } from "../profile/choose-profile.ts";
import { defaultLogin, loginCommand, type Profile, requireValid } from "../profile/profile.ts";
import { tshHome } from "../profile/profile-folder.ts";
import { databaseChecks, examineDatabase } from "./db/examine-database.ts";
import { openSshStream } from "./open-stream.ts";
import { parseSshTarget } from "./ssh-target.ts";

const wanted: readonly CheckName[] = ["route", "name", "connection", "tls", "alpn", "certificate", "answer", "version", "clock", "access"];

/** `tsh doctor [[user@]host | db/NAME]`: finds out where the path to the proxy, or to what is behind it, fails, and what to do. */
export async function doctor(call: Call): Promise<Result> {
  const { io, args } = call;
  const profile = await loadProfile(tshHome(io.env), proxyOption(call)).catch((thrown: unknown) => {
    // The path can be checked without a login too.
    if (proxyOption(call) !== undefined && thrown instanceof PlatformError && thrown.code === "unauthenticated") return undefined;
    throw thrown;
  });
  const proxy = proxyOption(call) ?? profile?.facts.proxy;
  if (proxy === undefined) throw new PlatformError("invalid", "no proxy was given", { hint: "give it with --proxy=<host[:port]>" });
  const exam = new Examination();
  await examine(exam, { call, proxy, profile });
  const last: readonly CheckName[] = databaseOf(call) !== undefined ? databaseChecks : args.length > 0 ? ["host"] : [];
  exam.skip([...wanted, ...last], "not reached");
  return report(exam.findings, { proxy: formatHostPort(proxy), ...(profile && { cluster: profile.facts.cluster }) });
}

interface Ask {
  readonly call: Call;
  readonly proxy: HostPort;
  readonly profile: Profile | undefined;
}

async function examine(exam: Examination, { call, proxy, profile }: Ask): Promise<void> {
  const { env } = call.io;
  const path = await examinePath(exam, { target: proxy, env });
  if (path === undefined) return;
  const { answers, trusted } = await examineTls(exam, path, tlsAsk({ call, proxy, profile }));
  const fits = answers && (await examineAnswer(exam, { target: proxy, env }));
  if (!trusted || !fits) return;
  if (!(await exam.passes("access", () => lookIn({ call, proxy, profile }))) || profile === undefined) return;
  const [[host], given] = [call.args, databaseOf(call)];
  if (given !== undefined) await examineDatabase(exam, { call, profile, given });
  else if (host !== undefined) await exam.passes("host", () => reachHost(call, profile, host));
}

/** The database that is asked for; undefined: a host, or none. */
function databaseOf({ args }: Call): string | undefined {
  return args[0]?.startsWith("db/") === true ? args[0].slice("db/".length) : undefined;
}

/** After a login as `tsh ssh` connects; before it as `tsh login` does. */
function tlsAsk({ call, proxy, profile }: Ask): TlsAsk {
  const untrusted = "log in again with --ca-pin=sha256:…, as `tctl status` prints it";
  const pins = call.options.list("caPin");
  if (profile === undefined && pins.length === 0) {
    return { alpn: "http/1.1", servername: proxy.host, authorities: async () => undefined, untrusted };
  }
  const byPin = async () => [await trustByPin({ open: () => dialWebPort(proxy, { env: call.io.env }), pins })];
  const authorities = async () => (pins.length > 0 ? await byPin() : profile?.hostCaPem);
  return { alpn: alpn.stream, servername: roleServerName("proxy"), authorities, untrusted };
}

async function lookIn({ call, proxy, profile }: Ask): Promise<Said> {
  if (profile === undefined) {
    const hint = `log in with: tsh login --proxy=${formatHostPort(proxy)} --user=<name>`;
    throw new PlatformError("unauthenticated", "you are not logged in at this proxy", { hint });
  }
  const { facts, secrets, hostCaPem } = profile;
  requireValid(facts, new Date());
  const credentials = { certificate: secrets.tlsCertificate, privateKey: secrets.tlsPrivateKey };
  using connection = openAuthClient({ open: () => dialWebPort(facts.proxy, { env: call.io.env }), ca: hostCaPem, credentials });
  if (databaseOf(call) !== undefined) {
    await connection.client.getCluster({});
    return { says: `login as ${facts.user} works` };
  }
  const { resources } = await connection.client.listResources({ kind: "node" });
  if (resources.length > 0)
    return { says: `login as ${facts.user} works, with access to ${resources.length} host${resources.length === 1 ? "" : "s"}` };
  throw new PlatformError("not_found", `login as ${facts.user} works, but no hosts are accessible`, {
    hint: `roles: ${facts.roles.join(", ")}; ask an admin or, if the roles were changed, log in again: ${loginCommand(facts)}`,
  });
}

async function reachHost({ io }: Call, profile: Profile, text: string): Promise<Said> {
  const target = parseSshTarget(text);
  const login = target.login ?? defaultLogin(profile.facts);
  const stream = await openSshStream(io, { profile, target: target.host, login });
  stream.on("error", () => {}).destroy();
  return { says: `the agent of ${target.host} answers; ${login} may log in there` };
}
