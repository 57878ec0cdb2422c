import { isAbsolute } from "node:path";
import { z } from "zod";
import { isTemplate, parseTemplate } from "../access/templates.ts";
import type { PlatformError } from "../errors/platform-error.ts";
import { type ServiceKind, serviceKinds, serviceNames } from "../kinds/service-kinds.ts";
import { labelsSchema } from "../resources/metadata.ts";
import { hostnameText } from "../resources/node.ts";
import { recordingModes } from "../resources/recording.ts";
import { listenersPort } from "../transport/host-port.ts";
import { isPrefix, isWide } from "../transport/ip-prefix.ts";
import { appServiceSchema } from "./app-service.ts";
import { storageSchema } from "./audit-destination.ts";
import { connectionsOfUser } from "./connections-of-user.ts";
import { isOff } from "./cross-rules.ts";
import { dbServiceSchema } from "./db-service.ts";
import { kubeServiceSchema } from "./kube-service.ts";
import { labelCommandsSchema } from "./label-commands.ts";
import { hostPortText, oneAddress, onOff, orList, positiveDuration, sshAlgorithmKeys } from "./setting.ts";
import { upgradeChannels } from "./upgrade-channels.ts";

/** Default ports, as in the reference. */
export const ports = {
  web: 3080,
  ssh: serviceKinds.ssh.directPort,
  proxySsh: 3023,
  tunnel: 3024,
  kube: 3026,
  auth: 3025,
  postgres: 5432,
  mysql: 3036,
  mongo: 27_017,
  redis: 6379,
} as const;

/** kubernetes: with the token of the pod's service account; `token_name` is then the name of the join token, which has no secret. */
const joinMethods = ["token", "kubernetes"] as const;
export type JoinMethod = (typeof joinMethods)[number];

const absolutePath = z.string().refine(isAbsolute, "must be an absolute path");

const logSchema = z.strictObject({
  /** `stderr`, `stdout` or the absolute path of a file. */
  output: z
    .string()
    .refine((text) => text === "stderr" || text === "stdout" || isAbsolute(text), "must be stderr, stdout or an absolute path")
    .default("stderr"),
  severity: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(["debug", "info", "warn", "error"], "must be DEBUG, INFO, WARN or ERROR"))
    .default("info"),
  format: z.strictObject({ output: z.enum(["text", "json"], "must be text or json").default("text") }).prefault({}),
});

export const platformSchema = z.strictObject({
  /** Default: the host's name. */
  nodename: hostnameText.optional(),
  data_dir: absolutePath.default("/var/lib/platform"),
  pid_file: absolutePath.optional(),
  /** The token, or the absolute path of a file that holds it. */
  auth_token: z.string().min(1, "must not be empty").optional(),
  join_params: z
    .strictObject({ method: z.enum(joinMethods, "must be token or kubernetes"), token_name: z.string().min(1, "must not be empty") })
    .optional(),
  /** Each is a pin, or the absolute path of a file with one. */
  ca_pin: orList(z.string().min(1, "must not be empty")).optional(),
  proxy_server: hostPortText(ports.web).optional(),
  auth_server: hostPortText(ports.auth).optional(),
  /** For a host that joins the auth service directly: the address where proxies reach it, if it is not the host's own. */
  advertise_ip: z.union([z.ipv4(), z.ipv6()], "must be an IP address").optional(),
  diag_addr: hostPortText(undefined).optional(),
  log: logSchema.prefault({}),
  storage: storageSchema.prefault({}),
  ...sshAlgorithmKeys,
});

const recordingModeText = `must be ${recordingModes.slice(0, -1).join(", ")} or ${recordingModes.at(-1)}`;
/** `yes`, `no`, `off` may be booleans in YAML; as a boolean only `off` and `false` are valid. */
const recordingMode = z.union([z.string(), z.literal(false)], recordingModeText).transform((given, context) => {
  const mode = recordingModes.find((one) => one === (given === false ? "off" : given));
  if (mode !== undefined) return mode;
  context.addIssue({ code: "custom", message: recordingModeText });
  return z.NEVER;
});

export const authSchema = z.strictObject({
  enabled: onOff.default(true),
  /** Default: the nodename. It cannot be changed later. */
  cluster_name: hostnameText.optional(),
  listen_addr: hostPortText(ports.auth).prefault(`0.0.0.0:${ports.auth}`),
  public_addr: orList(hostPortText(ports.auth)).default([]),
  proxy_listener_mode: z.enum(["multiplex", "separate"], "must be multiplex or separate").default("multiplex"),
  /** Recording mode of terminals; see core/resources/recording.ts. */
  session_recording: recordingMode.default("node"),
  connections_of_user: connectionsOfUser.prefault({}),
  /** Channels that the auth service vouches for, if proxies run elsewhere: as configured at the proxies. */
  automatic_upgrades_channels: upgradeChannels.default({}),
  authentication: z
    .strictObject({
      type: z.literal("local", "must be local: other sign-on is not supported yet").default("local"),
      second_factor: z.literal("otp", "must be otp: other second factors are not supported yet").default("otp"),
      /** Seconds. */
      default_session_ttl: positiveDuration.prefault("12h"),
    })
    .prefault({}),
});

const balancersText =
  "must be off, or the addresses of the balancers that send it, such as 10.0.0.5 or [10.0.0.0/24]: all others could claim any address";
const wideText = (prefix: string): string =>
  `must not hold ${prefix}: everybody in it could claim any address; list the balancers' own addresses, or their networks (/8 or longer, of IPv6 /16 or longer)`;
const balancer = z
  .string(balancersText)
  .refine(isPrefix, balancersText)
  .refine((text) => !isWide(text), { error: ({ input }) => wideText(String(input)) });
/** `off`, as in the reference; its `on` would believe everybody. */
const balancers = z.preprocess((value) => {
  if (value === undefined || isOff(value)) return undefined;
  const one = typeof value === "boolean" || typeof value === "number" ? `${value}` : value;
  return Array.isArray(one) ? one : [one];
}, z.array(balancer).min(1, balancersText).max(64, "must not have more than 64 addresses and prefixes").optional());

export const proxySchema = z.strictObject({
  enabled: onOff.default(true),
  web_listen_addr: hostPortText(ports.web).prefault(`0.0.0.0:${ports.web}`),
  /** Balancers whose connections begin with a header of the PROXY protocol, at every port: their addresses or prefixes. Default: off. */
  proxy_protocol: balancers.optional(),
  /** Balancers that end TLS and state the client in X-Forwarded-For. Default: off. */
  trust_x_forwarded_for: balancers.optional(),
  listen_addr: hostPortText(ports.proxySsh).optional(),
  tunnel_listen_addr: hostPortText(ports.tunnel).optional(),
  public_addr: oneAddress(listenersPort).optional(),
  ssh_public_addr: oneAddress(listenersPort).optional(),
  tunnel_public_addr: oneAddress(listenersPort).optional(),
  /** A port of its own for clients of Kubernetes, which the web port serves too. */
  kube_listen_addr: hostPortText(ports.kube).optional(),
  kube_public_addr: oneAddress(listenersPort).optional(),
  /** Ports for stock clients of databases: omitted ones are closed; PostgreSQL is served on the web port too. */
  postgres_listen_addr: hostPortText(ports.postgres).optional(),
  postgres_public_addr: oneAddress(listenersPort).optional(),
  mysql_listen_addr: hostPortText(ports.mysql).optional(),
  mysql_public_addr: oneAddress(listenersPort).optional(),
  /** In MySQL's greeting, which comes before the database is known. */
  mysql_server_version: z
    .string("must be text; put it in quotes")
    .regex(/^[0-9][\x21-\x7e]{0,63}$/, "must be a version such as 8.4.0, without spaces")
    .default("8.4.0"),
  mongo_listen_addr: hostPortText(ports.mongo).optional(),
  mongo_public_addr: oneAddress(listenersPort).optional(),
  redis_listen_addr: hostPortText(ports.redis).optional(),
  redis_public_addr: oneAddress(listenersPort).optional(),
  /** Applications are at `<name>.<apps_domain>`. Default: the host of public_addr. A domain of its own keeps their cookies apart from the proxy's. */
  apps_domain: hostnameText.transform((name) => name.toLowerCase()).optional(),
  https_keypairs: z.array(z.strictObject({ cert_file: absolutePath, key_file: absolutePath })).default([]),
  /** Channels by name, which may contain slashes. `default` and `stable/cloud` always exist. */
  automatic_upgrades_channels: upgradeChannels.default({}),
  /** A folder of package repositories, served under /packages/. */
  packages_dir: absolutePath.optional(),
});

const pamValue = z
  .string("must be text; put it in quotes")
  .max(1024)
  .refine((text) => !/[\0\n]/.test(text), "must be one line")
  .superRefine((text, context) => {
    try {
      if (isTemplate(text)) parseTemplate(text);
    } catch (thrown) {
      context.addIssue({ code: "custom", message: `holds a template that cannot be read; ${(thrown as PlatformError).hint}` });
    }
  });

/** A variable for PAM's modules and the session; the value may hold a template of a role. */
const pamEnvironment = z
  .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, "must be the name of a variable"), pamValue)
  .refine((all) => Object.keys(all).length <= 64, "must not have more than 64 variables");

const pamSchema = z.strictObject({
  enabled: onOff.default(false),
  /** Name of the file in /etc/pam.d. */
  service_name: z
    .string()
    .regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/, "must be the name of a file in /etc/pam.d")
    .default("sshd"),
  environment: pamEnvironment.default({}),
});

export const sshSchema = z.strictObject({
  enabled: onOff.default(true),
  labels: labelsSchema.default({}),
  commands: labelCommandsSchema,
  /** Listening address when it joins the auth service directly; behind a proxy it opens no port. */
  listen_addr: hostPortText(ports.ssh).prefault(`0.0.0.0:${ports.ssh}`),
  /** Additional names in the host's certificate; if it listens, also addresses that the proxies dial. */
  public_addr: orList(hostPortText(listenersPort)).default([]),
  /** Use of the host's PAM for accounts and sessions; see docs/pam.md. */
  pam: pamSchema.prefault({}),
  /** Whether this host never creates Unix users, whatever the roles allow. */
  disable_create_host_user: onOff.default(false),
});

/** An omitted section is off. */
export const configSchema = z.strictObject({
  version: z.literal("v3", "must be v3"),
  platform: platformSchema.prefault({}),
  auth_service: authSchema.prefault({ enabled: false }),
  proxy_service: proxySchema.prefault({ enabled: false }),
  ssh_service: sshSchema.prefault({ enabled: false }),
  app_service: appServiceSchema.prefault({ enabled: false }),
  db_service: dbServiceSchema.prefault({ enabled: false }),
  kubernetes_service: kubeServiceSchema.prefault({ enabled: false }),
});

/** The checked configuration file, with defaults filled in and files of secrets read. */
export type PlatformConfig = Omit<z.infer<typeof configSchema>, "platform"> & {
  readonly platform: Omit<z.infer<typeof platformSchema>, "nodename" | "auth_token" | "join_params" | "ca_pin"> & {
    readonly nodename: string;
    readonly joinMethod: JoinMethod;
    /** The secret itself, from auth_token or join_params; the token's name for the method kubernetes. */
    readonly token?: string | undefined;
    /** Each `sha256:` and 64 hex digits. */
    readonly caPins: readonly string[];
  };
};

/** Names of the services that an agent of this configuration offers. */
export function agentServices(config: PlatformConfig): readonly ServiceKind[] {
  return serviceNames.filter((kind) => config[serviceKinds[kind].section].enabled);
}
