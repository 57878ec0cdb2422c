import { directKinds, serviceKinds, serviceNames } from "../kinds/service-kinds.ts";

/** A violated rule between sections, and the key whose line is reported. */
export interface BrokenRule {
  readonly path: readonly string[];
  readonly text: string;
}

/** The rules that no single section can check, on the file as written (so that they are reported together with other problems). */
export function brokenRules(file: unknown): readonly BrokenRule[] {
  const has = (...path: string[]): boolean => valueAt(file, path) !== undefined;
  const runs = (section: string): boolean => has(section) && !isOff(valueAt(file, [section, "enabled"]));
  const [auth, proxy] = [runs("auth_service"), runs("proxy_service")];
  /** The sections of an agent's services. */
  const served = serviceNames.map((kind) => serviceKinds[kind].section).filter(runs);
  const [first = ""] = served;
  const agent = served.length > 0;
  /** A service that proxies do not dial. */
  const indirect = served.find((section) => !directKinds.some((kind) => serviceKinds[kind].section === section));
  const rules: readonly [broken: boolean, path: string, text: string][] = [
    [
      has("platform", "proxy_server") && has("platform", "auth_server"),
      "platform.auth_server",
      "proxy_server and auth_server cannot both be set; keep proxy_server on an agent, auth_server on a proxy and on an agent that the proxies dial",
    ],
    [
      has("platform", "auth_token") && has("platform", "join_params"),
      "platform.join_params",
      "auth_token and join_params cannot both be set; keep one of them",
    ],
    [
      proxy && valueAt(file, ["platform", "join_params", "method"]) === "kubernetes",
      "platform.join_params.method",
      "the method kubernetes is for agents; a proxy joins with a token (tctl tokens add --type=proxy)",
    ],
    [auth && has("platform", "auth_server"), "platform.auth_server", "auth_service runs here, so platform.auth_server must not be set; remove it"],
    [
      proxy && !auth && !has("platform", "auth_server"),
      "proxy_service",
      "without auth_service here the proxy needs platform.auth_server; set it to the auth service's host:port",
    ],
    [
      agent && !proxy && !has("platform", "proxy_server") && !has("platform", "auth_server"),
      first,
      "an agent joins through the proxy; set platform.proxy_server to the proxy's public host:port (or auth_server to the auth service's, to join it directly)",
    ],
    [
      agent && !proxy && has("platform", "auth_server") && !has("platform", "ca_pin"),
      "platform.auth_server",
      "to join the auth service directly, set platform.ca_pin: it is how this host recognizes the auth service; `tctl status` shows the pin",
    ],
    [
      agent && !proxy && !auth && has("platform", "auth_server") && indirect !== undefined,
      indirect ?? "",
      `only ${directKinds.map((kind) => serviceKinds[kind].section).join(" and ")} may have a port that proxies dial: what this section offers is reached through a tunnel; set platform.proxy_server in place of auth_server`,
    ],
    ...["ssh_service", "kubernetes_service"].map((section): [boolean, string, string] => [
      commandOfFixedLabel(file, section),
      `${section}.commands`,
      "a label has either a fixed value or a command; take it out of labels or out of commands",
    ]),
    [
      !auth && !proxy && !agent,
      "",
      `nothing to run: enable auth_service, proxy_service or ${serviceNames.map((kind) => serviceKinds[kind].section).join(", ")}`,
    ],
  ];
  return rules.flatMap(([broken, path, text]) => (broken ? [{ path: path === "" ? [] : path.split("."), text }] : []));
}

function commandOfFixedLabel(file: unknown, section: string): boolean {
  const commands = valueAt(file, [section, "commands"]);
  if (!Array.isArray(commands)) return false;
  return commands.some((one) => {
    const name = valueAt(one, ["name"]);
    return typeof name === "string" && valueAt(file, [section, "labels", name]) !== undefined;
  });
}

/** The value at a path of own properties; undefined where there is none. */
export function valueAt(file: unknown, path: readonly PropertyKey[]): unknown {
  let value = file;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<PropertyKey, unknown>>)[key];
  }
  return value;
}

/** Read as by `onOff` of setting.ts. */
export function isOff(value: unknown): boolean {
  return value === false || (typeof value === "string" && ["no", "off", "false"].includes(value.toLowerCase()));
}
