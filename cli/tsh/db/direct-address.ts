import { httpsGet } from "../../../core/transport/dial/https-get.ts";
import { type HostPort, parseHostPort } from "../../../core/transport/host-port.ts";
import { isEndedBefore } from "../../../core/transport/upgrade/dial-web-port.ts";
import type { CliIo } from "../../io.ts";

/** Where the proxy's answer has the address for clients of a protocol. */
const fields: Readonly<Record<string, string>> = {
  postgres: "postgres_public_addr",
  mysql: "mysql_public_addr",
  mongodb: "mongo_public_addr",
  redis: "redis_public_addr",
};
/** Longest answer, bytes. */
const maxAnswer = 65_536;

/**
 * Where the proxy serves a protocol's own clients, `host:port`; empty: nowhere, the proxy does not say, or something on the way ends their TLS. Its certificate is
 * not verified here: the clients verify that of the port. Never throws.
 */
export async function directAddress({ env }: Pick<CliIo, "env">, proxy: HostPort, protocol: string): Promise<string> {
  try {
    const { status, body } = await httpsGet(proxy, "/webapi/ping", { env, insecure: true, maxBytes: maxAnswer });
    const announced = status === 200 ? announcedAddress(body.toString("utf8"), protocol) : "";
    const address = directHostPort(announced);
    return address !== undefined && isEndedBefore(address) ? "" : announced;
  } catch {
    return "";
  }
}

/** The address in the proxy's answer; empty for any other text. Pure. */
export function announcedAddress(answer: string, protocol: string): string {
  const field = Object.hasOwn(fields, protocol) ? fields[protocol] : undefined;
  try {
    const { proxy } = JSON.parse(answer) as { readonly proxy?: { readonly db?: Readonly<Record<string, unknown>> } };
    const address = field === undefined ? undefined : proxy?.db?.[field];
    return typeof address === "string" && directHostPort(address) !== undefined ? address : "";
  } catch {
    return "";
  }
}

/** Undefined for an empty address, and for what is not one. Pure. */
export function directHostPort(address: string): HostPort | undefined {
  try {
    return address === "" ? undefined : parseHostPort(address, undefined, "the address of the proxy's port");
  } catch {
    return undefined;
  }
}
