import { z } from "zod";
import type { AppCors } from "./app.ts";
import type { Offered } from "./offered.ts";
import { formatPorts, type PortRange, parsePorts } from "./tcp-ports.ts";

/** Facts about an application that proxies and clients need; they travel in its details. */
export interface AppFacts {
  /** Whether its streams carry HTTP, or bytes that the platform does not look at. */
  readonly scheme: "tcp" | "http";
  /** Address at which the agent reaches it, the audience of tokens; for the auth service alone. */
  readonly uri?: string | undefined;
  /** Host name under which browsers reach it; undefined: its name under the proxy's host. */
  readonly publicAddr?: string | undefined;
  /** Applications to which a browser is signed in together with this one. */
  readonly requiredApps: readonly string[];
  readonly cors?: AppCors | undefined;
  /** Ports that clients choose from; undefined: the application is at one address. */
  readonly tcpPorts?: readonly PortRange[] | undefined;
}

/** The details in which the facts about an application travel. Pure. */
export function appDetails({ scheme, uri, publicAddr, requiredApps, cors, tcpPorts }: AppFacts): Readonly<Record<string, string>> {
  return {
    scheme,
    ...(uri !== undefined && { uri }),
    ...(publicAddr !== undefined && { public_addr: publicAddr }),
    ...(requiredApps.length > 0 && { required_apps: requiredApps.join(",") }),
    ...(cors !== undefined && { cors: JSON.stringify(cors) }),
    ...(tcpPorts !== undefined && { tcp_ports: formatPorts(tcpPorts) }),
  };
}

const names = z.array(z.string().max(256)).max(64).default([]);
const corsFacts = z.object({
  allowed_origins: names,
  allowed_methods: names,
  allowed_headers: names,
  exposed_headers: names,
  allow_credentials: z.boolean().optional(),
  max_age: z.int().min(0).optional(),
});

/** The facts in the details of an application, whatever an agent has stated. One of the version before states none: its applications speak TCP. Pure. */
export function appFacts({ details = {} }: Pick<Offered, "details">): AppFacts {
  const { scheme, uri, public_addr: publicAddr, required_apps: required = "", cors, tcp_ports: ports } = details;
  return {
    scheme: scheme === "http" ? "http" : "tcp",
    ...(uri !== undefined && { uri }),
    ...(publicAddr !== undefined && { publicAddr }),
    requiredApps: required.split(",").filter((name) => name !== ""),
    ...(cors !== undefined && { cors: corsOf(cors) }),
    ...(ports !== undefined && { tcpPorts: parsePorts(ports) }),
  };
}

/** Settings that cannot be read allow nothing. */
function corsOf(json: string): AppCors | undefined {
  try {
    return corsFacts.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}
