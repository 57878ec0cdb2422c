import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";

const portFault = "must be a port, from 1 to 65535";
const portNumber = z.int(portFault).min(1, portFault).max(65_535, portFault);
/** Maximum number of ranges of one application: they travel in its details. */
const maxRanges = 64;

const portRange = z
  .strictObject({ port: portNumber, end_port: portNumber.optional() })
  .refine(({ port, end_port: end = port }) => end >= port, { path: ["end_port"], message: "must not be smaller than port" });
/** A port, or all of them from `port` to `end_port`. */
export type PortRange = z.infer<typeof portRange>;

/** The ports at which an application of several ports may be reached. */
export const tcpPortsSchema = z.array(portRange).min(1, "must not be an empty list").max(maxRanges);

/** The ranges as one text: `5432,6000-6010`. Pure. */
export function formatPorts(ranges: readonly PortRange[]): string {
  return ranges.map(({ port, end_port: end = port }) => (end === port ? `${port}` : `${port}-${end}`)).join(",");
}

/** The ranges in such a text; undefined for any other. Pure. */
export function parsePorts(text: string): readonly PortRange[] | undefined {
  const ranges = text.split(",", maxRanges + 1).map((part) => {
    const [, port, end] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part) ?? [];
    return { port: Number(port), ...(end !== undefined && { end_port: Number(end) }) };
  });
  return tcpPortsSchema.safeParse(ranges).data;
}

/** The same ports in increasing order, as few ranges as possible: two lists of the same ports become equal. Pure. */
export function mergedPorts(ranges: readonly PortRange[]): readonly PortRange[] {
  const merged: { port: number; end_port: number }[] = [];
  for (const { port, end_port: end = port } of ranges.toSorted((a, b) => a.port - b.port)) {
    const last = merged.at(-1);
    if (last !== undefined && port <= last.end_port + 1) last.end_port = Math.max(last.end_port, end);
    else merged.push({ port, end_port: end });
  }
  return merged;
}

/** The only port of these ranges; undefined for several. Pure. */
export function onlyPort(ranges: readonly PortRange[]): number | undefined {
  const [first, ...others] = ranges;
  return first !== undefined && others.length === 0 && (first.end_port ?? first.port) === first.port ? first.port : undefined;
}

/** Whether one of the ranges has the port. Pure. */
export function hasPort(ranges: readonly PortRange[], wanted: number): boolean {
  return ranges.some(({ port, end_port: end = port }) => port <= wanted && wanted <= end);
}

interface PortedApp {
  readonly name: string;
  /** Undefined: the application is at one address. */
  readonly tcpPorts?: readonly PortRange[] | undefined;
}

/**
 * The port of an application that a user means; undefined for one that is at one address. `asked` is the parameter of the request. Throws `denied` for a port
 * that the application does not have; `invalid` for an application of several ports when none was asked for, and for one of a single address when one was.
 */
export function targetPort({ name, tcpPorts }: PortedApp, asked: string | undefined): number | undefined {
  if (tcpPorts === undefined) {
    if (asked === undefined) return undefined;
    const hint = "leave out the target port, or list the ports as tcp_ports of the application";
    throw new PlatformError("invalid", `application ${name} has no target ports to choose from`, { hint });
  }
  const listed = formatPorts(tcpPorts).replaceAll(",", ", ");
  if (asked === undefined) {
    const only = onlyPort(tcpPorts);
    if (only !== undefined) return only;
    const hint = `choose one with: tsh proxy app ${name} --port=<local port>:<target port>`;
    throw new PlatformError("invalid", `application ${name} has several ports: ${listed}`, { hint });
  }
  const port = /^[1-9]\d{0,4}$/.test(asked) ? Number(asked) : 0;
  if (hasPort(tcpPorts, port)) return port;
  const shown = port === 0 ? JSON.stringify(asked.slice(0, 16)) : port;
  throw new PlatformError("denied", `access denied: application ${name} has no port ${shown}; its ports are ${listed}`, {
    hint: "choose one of its ports, or have it added to tcp_ports of the application",
  });
}
