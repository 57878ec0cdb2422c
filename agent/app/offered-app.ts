import { dumperName, templateFault } from "../../core/config/app-service.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { App, AppCors, JwtClaims } from "../../core/resources/app.ts";
import { appDetails } from "../../core/resources/app-details.ts";
import type { HeaderField } from "../../core/resources/app-headers.ts";
import { type AppUri, parseAppUri, speaksHttp } from "../../core/resources/app-uri.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { PortRange } from "../../core/resources/tcp-ports.ts";

export interface OfferedApp {
  readonly name: string;
  /** As configured; the audience of tokens. */
  readonly uri: string;
  readonly address: AppUri;
  /** Ports of an address that states none: clients choose one. */
  readonly tcpPorts?: readonly PortRange[] | undefined;
  readonly labels: Labels;
  /** Host name under which browsers reach it; undefined: its name under the proxy's host. */
  readonly publicAddr?: string | undefined;
  /** Accepts any certificate of the application. */
  readonly isInsecure: boolean;
  readonly rewrite: Rewrite;
  readonly requiredApps: readonly string[];
  readonly cors?: AppCors | undefined;
  /** The built-in application that shows its requests. */
  readonly isDumper: boolean;
}

interface Rewrite {
  /** Hosts of redirects that lead to the public address instead; lower case. */
  readonly redirect: readonly string[];
  /** Fields set in each request; values may hold templates. */
  readonly headers: readonly HeaderField[];
  readonly jwtClaims: JwtClaims;
}

type AppSettings = Omit<App["spec"], "required_app_names">;

/** An application from its settings. Throws `invalid` for a template or an address that this version cannot read. */
export function offeredApp(name: string, labels: Labels, spec: AppSettings): OfferedApp {
  const address = parseAppUri(spec.uri);
  if (address === undefined) throw new PlatformError("invalid", `the address of application ${name} cannot be read: ${spec.uri}`);
  const { redirect = [], headers = [], jwt_claims: jwtClaims = "roles-and-traits" } = spec.rewrite ?? {};
  for (const { name: header, value } of headers) {
    const fault = templateFault(value);
    if (fault !== undefined) throw new PlatformError("invalid", `rewrite.headers of application ${name}, ${header}: ${fault}`);
  }
  return {
    name,
    uri: spec.uri,
    address,
    tcpPorts: spec.tcp_ports,
    labels,
    publicAddr: spec.public_addr,
    isInsecure: spec.insecure_skip_verify ?? false,
    rewrite: { redirect: redirect.map((host) => host.toLowerCase()), headers: headers.map((one) => [one.name, one.value] as const), jwtClaims },
    requiredApps: spec.required_apps ?? [],
    cors: spec.cors,
    isDumper: false,
  };
}

/** The built-in application that shows its requests; nothing listens at its address. */
export function dumperApp(): OfferedApp {
  return { ...offeredApp(dumperName, { "platform/debug": "yes" }, { uri: "http://dumper.invalid" }), isDumper: true };
}

/** Its facts for the auth service, proxies and clients. */
export function detailsOf({ uri, address, tcpPorts, publicAddr, requiredApps, cors }: OfferedApp): Readonly<Record<string, string>> {
  return appDetails({ scheme: speaksHttp(address) ? "http" : "tcp", uri, publicAddr, requiredApps, cors, tcpPorts });
}
