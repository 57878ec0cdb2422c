import { usualConnectionsOfUser } from "../../core/config/connections-of-user.ts";
import { parseHostPort } from "../../core/transport/host-port.ts";

/** Options of `platform configure`; a missing one is written as a commented example. */
export interface ConfigWishes {
  readonly roles: readonly Role[];
  readonly nodename?: string | undefined;
  readonly dataDir?: string | undefined;
  readonly token?: string | undefined;
  readonly caPins: readonly string[];
  readonly proxy?: string | undefined;
  readonly authServer?: string | undefined;
  readonly clusterName?: string | undefined;
  readonly publicAddr?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly packagesDir?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

export const roles = ["auth", "proxy", "node"] as const;
export type Role = (typeof roles)[number];

/** A commented configuration file. Pure; parseConfig decides whether `start` accepts it. */
export function configText(wishes: ConfigWishes): string {
  return [...platformLines(wishes), "", ...authLines(wishes), "", ...proxyLines(wishes), "", ...sshLines(wishes), ""].join("\n");
}

/** `key: value` when there is a value, else the example as a comment. */
function setting(key: string, value: string | undefined, example: string): string {
  return value === undefined ? `  # ${key}: ${example}` : `  ${key}: ${quoted(value)}`;
}

/** Plain text where YAML reads it unchanged, else in double quotes. */
function quoted(value: string): string {
  const plain = /^[A-Za-z/][A-Za-z0-9._/@+-]*(:[A-Za-z0-9._-]+)?$/.test(value) && !/^(true|false|yes|no|on|off|null)$/i.test(value);
  return plain ? value : JSON.stringify(value);
}

function onOff(wishes: ConfigWishes, role: Role): string {
  return `  enabled: ${wishes.roles.includes(role) ? "yes" : "no"}`;
}

function platformLines(wishes: ConfigWishes): string[] {
  const pins = wishes.caPins.length > 0 ? `[${wishes.caPins.map(quoted).join(", ")}]` : undefined;
  return [
    "# Configuration of platform. `platform start --config FILE` refuses a file with an unknown key and names the line.",
    "version: v3",
    "platform:",
    "  # Name of this host in the cluster; the default is the host's own name.",
    setting("nodename", wishes.nodename, "web1"),
    "  # Folder for state.",
    `  data_dir: ${quoted(wishes.dataDir ?? "/var/lib/platform")}`,
    "  # For joining a cluster: the secret of `tctl tokens add`, or the absolute path of a file that holds it.",
    setting("auth_token", wishes.token, "/etc/platform.token"),
    "  # The CA pin that `tctl status` prints; it proves that the cluster is the right one.",
    pins === undefined ? "  # ca_pin: sha256:…" : `  ca_pin: ${pins}`,
    "  # An agent joins through the proxy's public address; a proxy on its own host needs auth_server instead.",
    setting("proxy_server", wishes.proxy, "proxy.example.com:443"),
    setting("auth_server", wishes.authServer, "auth.example.com:3025"),
    "  # /healthz and /readyz are served here.",
    "  # diag_addr: 127.0.0.1:3000",
    "  log:",
    "    # stderr, stdout or the absolute path of a file",
    "    output: stderr",
    "    # DEBUG, INFO, WARN or ERROR",
    "    severity: INFO",
    "    format:",
    "      # text for people, json for machines",
    "      output: text",
  ];
}

function authLines(wishes: ConfigWishes): string[] {
  return [
    "# Issues certificates, keeps users, roles and the audit log.",
    "auth_service:",
    onOff(wishes, "auth"),
    "  # Name of the cluster; it cannot be changed later. The default is the nodename.",
    setting("cluster_name", wishes.clusterName, "example.com"),
    "  # For proxies and agents that join it directly; where all join through the proxy of this host, 127.0.0.1:3025 is enough.",
    "  listen_addr: 0.0.0.0:3025",
    "  # multiplex: everything through the proxy's web port. separate: 3023 and 3024 too.",
    "  proxy_listener_mode: multiplex",
    "  # New connections that proxies open in one user's name, for each kind of resource.",
    "  # connections_of_user:",
    `  #   at_once: ${usualConnectionsOfUser.burst}`,
    `  #   per_second: ${usualConnectionsOfUser.perSecond}`,
  ];
}

function proxyLines(wishes: ConfigWishes): string[] {
  const pair = wishes.certFile !== undefined && wishes.keyFile !== undefined;
  const mark = pair ? "" : "# ";
  return [
    "# The only entrance from outside. [::] instead of 0.0.0.0 listens on IPv6 and IPv4.",
    "proxy_service:",
    onOff(wishes, "proxy"),
    `  web_listen_addr: 0.0.0.0:${webPort(wishes.publicAddr)}`,
    "  # The address where clients and agents reach it. Only one.",
    setting("public_addr", wishes.publicAddr, "proxy.example.com:3080"),
    "  # The certificate that browsers see; the default is one of the cluster's own authority.",
    `  ${mark}https_keypairs:`,
    `  ${mark}- cert_file: ${quoted(wishes.certFile ?? "/etc/platform/fullchain.pem")}`,
    `  ${mark}  key_file: ${quoted(wishes.keyFile ?? "/etc/platform/privkey.pem")}`,
    "  # The version of agents, by channel; equal on all proxies. By default the channel `default` serves the proxy's own version.",
    "  # automatic_upgrades_channels:",
    "  #   default:",
    "  #     static_version: v1.2.3",
    "  #   stable/cloud:",
    "  #     forward_url: https://updates.example.com/v1/stable/cloud",
    "  # A folder of package repositories, served under /packages/.",
    setting("packages_dir", wishes.packagesDir, "/srv/platform/repository"),
  ];
}

function sshLines(wishes: ConfigWishes): string[] {
  const labels = Object.entries(wishes.labels);
  return [
    "# Gives users access to this host.",
    "ssh_service:",
    onOff(wishes, "node"),
    "  # Roles grant access by these labels.",
    ...(labels.length > 0
      ? ["  labels:", ...labels.map(([key, value]) => `    ${quoted(key)}: ${quoted(value)}`)]
      : ["  # labels:", "  #   env: production"]),
    "  # Check accounts and open sessions with this host's PAM, by a file of /etc/pam.d.",
    "  # pam:",
    "  #   enabled: yes",
    "  #   service_name: sshd",
  ];
}

/** Listens on the published port; they differ only where a port is forwarded. */
function webPort(publicAddr: string | undefined): number {
  return publicAddr === undefined ? 3080 : parseHostPort(publicAddr, 3080, "--public-addr").port;
}
