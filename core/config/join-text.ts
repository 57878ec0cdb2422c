import { type ServedKind, servedKinds, serviceKinds } from "../kinds/service-kinds.ts";

/** A join token, and where its host finds the cluster. */
export interface JoinFacts {
  readonly secret: string;
  readonly caPins: readonly string[];
  readonly proxyAddress: string;
  readonly roles: readonly string[];
  /** Application that the host offers, instead of an example. */
  readonly app?: { readonly name: string; readonly uri: string } | undefined;
}

/** The configuration of a host that joins with this token, as YAML. Pure. */
export function configSnippet({ secret, caPins, proxyAddress, roles, app }: JoinFacts): string {
  const pins = caPins.length === 1 ? ` ${caPins[0]}` : `\n${caPins.map((pin) => `    - ${pin}`).join("\n")}`;
  const enabled = (role: string): string => (roles.includes(role) ? "yes" : "no");
  return [
    "version: v3",
    "platform:",
    `  auth_token: ${/^[A-Za-z0-9]+$/.test(secret) && !/^[0-9]/.test(secret) ? secret : JSON.stringify(secret)}`,
    `  ca_pin:${pins}`,
    // A proxy connects to the auth service directly; the token is usually made on that host.
    roles.includes("proxy") ? "  auth_server: <auth host>:3025" : `  proxy_server: ${proxyAddress}`,
    "auth_service:",
    "  enabled: no",
    "proxy_service:",
    `  enabled: ${enabled("proxy")}`,
    "ssh_service:",
    `  enabled: ${enabled("node")}`,
    ...servedKinds.filter((kind) => roles.includes(serviceKinds[kind].token)).flatMap((kind) => sectionLines(kind, app)),
  ].join("\n");
}

function sectionLines(kind: ServedKind, app: JoinFacts["app"]): readonly string[] {
  const { section, served } = serviceKinds[kind];
  const own = kind === "app" && app !== undefined ? ["apps:", `  - name: ${app.name}`, `    uri: ${JSON.stringify(app.uri)}`] : served.example;
  return [`${section}:`, "  enabled: yes", ...own.map((line) => `  ${line}`)];
}

/** Command lines that install and join a host, for its root; empty when the token is not for SSH alone. Pure. */
export function joinLines({ secret, caPins, proxyAddress, roles }: JoinFacts): readonly string[] {
  if (roles.join() !== "node") return [];
  const web = `https://${proxyAddress.replace(/:443$/, "")}`;
  return [
    `curl -fsSL ${web}/scripts/install.sh | sh -s -- auto enterprise`,
    `platform configure --roles=node --proxy=${proxyAddress} --token=${shellWord(secret)} --ca-pin=${caPins.join(",")} --output=file`,
    "systemctl enable --now platform",
  ];
}

function shellWord(text: string): string {
  return /^[\w.:@/+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
