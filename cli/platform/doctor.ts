import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { otherCluster } from "../../core/api/ca-pin.ts";
import { loadCredentials } from "../../core/api/credential-store.ts";
import { credentialsValidity, type HostCredentials } from "../../core/api/host-credentials.ts";
import { trustByPin } from "../../core/api/trust.ts";
import { agentServices, type PlatformConfig } from "../../core/config/platform-config.ts";
import { readConfigFile } from "../../core/config/read-config-file.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { directKinds, serviceKinds } from "../../core/kinds/service-kinds.ts";
import { alpn, roleServerName } from "../../core/transport/alpn.ts";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";
import { dialWebPort } from "../../core/transport/upgrade/dial-web-port.ts";
import type { Call } from "../command.ts";
import { examineAnswer } from "../doctor/answer-checks.ts";
import { judgeDatabases, serverAuthorities } from "../doctor/database-checks.ts";
import { type AgentAsk, askAuth, examineDirect, examineJoin, type Listens, wantedDirect } from "../doctor/direct-checks.ts";
import { type Answer, type CheckName, Examination, report } from "../doctor/examination.ts";
import { examinePath } from "../doctor/path-checks.ts";
import { judgeService, lookAtService } from "../doctor/service-check.ts";
import { readEnvironmentFile, serviceEnvironment } from "../doctor/service-environment.ts";
import { examineTls, examineWebCertificate, type TlsAsk } from "../doctor/tls-checks.ts";
import { examineProxies, examineTunnel, type TunnelAsk } from "../doctor/tunnel-check.ts";
import { examineUpdater } from "../doctor/updater-check.ts";
import type { Result } from "../output.ts";
import { defaultConfigFile } from "./choose-config-file.ts";
import type { Services } from "./services.ts";

const wanted: readonly CheckName[] = [
  ...(["configuration", "identity", "environment", "route", "name", "connection", "tls", "alpn", "certificate"] as const),
  ...(["answer", "version", "clock", "tunnel", "access", "proxies", "web"] as const),
];

/** `platform doctor`: checks the agent's path to its cluster, as the service takes it, and to its databases. Without an agent, the host's service alone. */
export async function doctor({ io, options }: Call, checkDatabases: Services["checkDatabases"]): Promise<Result> {
  const exam = new Examination();
  const file = resolve(options.text("config") ?? defaultConfigFile);
  const config = await exam.check("configuration", () => readConfiguration(file));
  if (config === undefined) exam.skip(wanted, "not reached");
  else {
    const { platform, target, names, services } = config;
    const identity = target && (await exam.check("identity", () => findIdentity(platform)));
    const environment = await readEnvironmentFile(resolve(options.text("environmentFile") ?? "/etc/default/platform"));
    const env = (await exam.check("environment", () => serviceEnvironment(io.env, environment))) ?? io.env;
    if (target !== undefined) {
      const ask = { target, env, platform, names, services, credentials: identity?.credentials };
      if (config.listens === undefined) await examine(exam, ask);
      else await examineDirect(exam, { ...ask, listens: config.listens });
      exam.skip(config.listens === undefined ? wanted : wantedDirect, "not reached");
      if (config.whole.db_service.enabled) await examineDatabases(exam, ask, { config: config.whole, checkDatabases });
    }
    await examineHost(exam, { file, env, environmentFile: environment.path });
  }
  return report(exam.findings, { config: file, ...(config?.target && { target: formatHostPort(config.target) }) });
}

interface Configured {
  readonly whole: PlatformConfig;
  readonly platform: PlatformConfig["platform"];
  /** Address of the proxy, or of the auth service where it is joined directly; undefined: no service of an agent is enabled. */
  readonly target: HostPort | undefined;
  /** Further names that the agent requests. */
  readonly names: readonly string[];
  /** Services that the agent wants to offer. */
  readonly services: readonly string[];
  /** Where the agent listens when it joins the auth service directly. */
  readonly listens?: readonly Listens[];
}

async function readConfiguration(file: string): Promise<Answer<Configured>> {
  const { config, warnings } = await readConfigFile(file, hostname());
  const { platform, proxy_service: proxy, ssh_service: ssh } = config;
  const { host, port } = proxy.web_listen_addr;
  const own = proxy.enabled ? { host: host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host, port } : undefined;
  const target = platform.proxy_server ?? own;
  const services = agentServices(config);
  const names = ssh.public_addr.map((name) => name.host);
  const noted = warnings.length > 0 && { warning: warnings.join("; ") };
  if (services.length === 0) {
    const says = `${file} is valid, and enables no service of an agent, whose path to the cluster would be checked; on the auth host, tctl status reports on the cluster`;
    return { says, value: { whole: config, platform, names, services, target: undefined }, ...noted };
  }
  if (target === undefined && platform.auth_server !== undefined) {
    const auth = platform.auth_server;
    const listens = directKinds.flatMap((kind) => {
      const { section } = serviceKinds[kind];
      return config[section].enabled ? [{ section, address: config[section].listen_addr }] : [];
    });
    const where = listens.map(({ address }) => formatHostPort(address)).join(" and ");
    const says = `${file} is valid: the agent joins the auth service ${formatHostPort(auth)} directly, and listens on ${where}`;
    return { says, value: { whole: config, platform, names, services, target: auth, listens }, ...noted };
  }
  if (target === undefined) {
    throw new PlatformError("invalid", `${file} names no proxy to connect to`, { hint: "write the proxy's public address as platform.proxy_server" });
  }
  const from = platform.proxy_server === undefined ? "the proxy runs here" : `the proxy is ${formatHostPort(target)}`;
  return { says: `${file} is valid: ${from}`, value: { whole: config, platform, names, services, target }, ...noted };
}

/** Undefined credentials: the host has not joined yet, but could. */
async function findIdentity({
  data_dir: folder,
  token,
  caPins,
}: PlatformConfig["platform"]): Promise<Answer<{ credentials: HostCredentials | undefined }>> {
  const credentials = await loadCredentials(join(folder, "agent", "credentials.json"));
  if (credentials === undefined) {
    if (token !== undefined)
      return { says: "this host has not joined yet: it will join with the token of the configuration", value: { credentials } };
    throw new PlatformError("unauthenticated", `this host has not joined, and the configuration has no token (looked in ${folder}/agent)`, {
      hint: "make one with `tctl tokens add --type=node` and set it as platform.auth_token",
    });
  }
  const until = credentialsValidity(credentials).to;
  const who = `host ${credentials.hostId} of the cluster ${JSON.stringify(credentials.cluster)}`;
  const other = otherCluster(credentials, caPins);
  const warning = other && `platform.ca_pin is of another authority: ${other.hint}`;
  if (Date.now() < until.getTime()) return { says: `${who}, until ${until.toISOString()}`, value: { credentials }, warning };
  throw new PlatformError("unauthenticated", `${who}: its certificate expired at ${until.toISOString()}`, {
    hint: "if the clock is right, set a new token as platform.auth_token and restart the service: the host joins again",
  });
}

interface DatabasesAsk {
  readonly config: PlatformConfig;
  readonly checkDatabases: Services["checkDatabases"];
}

/** The databases of the configuration, by the authorities of the cluster as they are now. */
async function examineDatabases(exam: Examination, { target, env, credentials }: AgentAsk, { config, checkDatabases }: DatabasesAsk): Promise<void> {
  const isReached = exam.findings.some(({ check, outcome }) => check === "access" && outcome === "ok");
  if (credentials === undefined || !isReached) return exam.skip(["databases"], "not checked: the auth service knows the authorities of servers");
  await exam.passes("databases", async () => {
    const authorities = await serverAuthorities({ target, env, credentials });
    const { databases, resources } = config.db_service;
    return judgeDatabases(databases.length === 0 ? [] : await checkDatabases(config, authorities), resources.length > 0);
  });
}

interface HostAsk {
  /** The configuration file. */
  readonly file: string;
  readonly env: Env;
  readonly environmentFile: string;
}

/** The updater and the service of this host, when the configuration is theirs. */
async function examineHost(exam: Examination, { file, env, environmentFile }: HostAsk): Promise<void> {
  if (file !== defaultConfigFile) return;
  await exam.passes("updates", () => examineUpdater(env));
  await exam.passes("service", async () => {
    const unit = await lookAtService("platform");
    return unit && judgeService(unit, env, environmentFile);
  });
}

async function examine(exam: Examination, ask: AgentAsk): Promise<void> {
  const { target, env, credentials } = ask;
  const path = await examinePath(exam, { target, env });
  if (path === undefined) return;
  const { answers, trusted } = await examineTls(exam, path, tlsAsk(ask));
  const fits = answers && (await examineAnswer(exam, { target, env }));
  if (!trusted || !fits) return;
  if (credentials === undefined) {
    await examineJoin(exam, ask);
    exam.skip(["tunnel", "access", "proxies"], "this host has not joined yet");
  } else await examineTunnels(exam, { target, env, credentials });
  await exam.passes("web", () => examineWebCertificate(path, target.host));
}

async function examineTunnels(exam: Examination, ask: TunnelAsk): Promise<void> {
  const { target, env, credentials } = ask;
  const reached = (await exam.passes("tunnel", () => examineTunnel(ask))) && (await exam.passes("access", () => askAuth(target, env, credentials)));
  if (reached) await exam.passes("proxies", () => examineProxies(ask));
  else exam.skip(["access", "proxies"], "not reached");
}

function tlsAsk({ target, env, platform, credentials }: AgentAsk): TlsAsk {
  const { caPins: pins } = platform;
  const other = credentials && otherCluster(credentials, pins);
  const untrusted = other === undefined ? "compare platform.ca_pin with what `tctl status` prints" : `${other.message}: ${other.hint}`;
  if (credentials === undefined && pins.length === 0) {
    return { alpn: "http/1.1", servername: target.host, authorities: async () => undefined, untrusted };
  }
  const byPin = async () => [await trustByPin({ open: () => dialWebPort(target, { env }), pins })];
  const authorities = async () => credentials?.hostCaPem ?? (await byPin());
  return { alpn: alpn.stream, servername: roleServerName("proxy"), authorities, untrusted };
}
