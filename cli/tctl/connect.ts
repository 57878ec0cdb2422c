import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type AuthClient, type AuthClientOptions, type AuthConnection, openAuthClient } from "../../core/api/auth-client.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { dial } from "../../core/transport/dial/dial.ts";
import { formatHostPort, type HostPort, parseHostPort } from "../../core/transport/host-port.ts";
import type { Call } from "../command.ts";
import { isLostOutput } from "../output.ts";
import { chosenProfile } from "../profile/choose-profile.ts";
import { requireValid } from "../profile/profile.ts";
import { dialProxy, otherAuthority } from "../profile/reach-cluster.ts";
import { hostConfig } from "./host-config.ts";

export interface Admin {
  readonly client: AuthClient;
  /** How the connection was made, for messages. */
  readonly via: string;
  /** `host:port` of the proxy's web address, if known here. */
  readonly proxyAddress: string | undefined;
}

/** Calls after which nothing is different: they look, or sign. All others may have made their change when the answer is lost. */
const leavesAll = /^(get|list|find|read|index|check|watch|explain|export|sign)(?=[A-Z])/;

/**
 * Runs a command with a connection to the auth service: as this auth host itself, else as the user that tsh logged in. `doubt`: what an error states when the
 * connection was lost after a change was sent.
 */
export async function withAdmin<T>(
  call: Call,
  work: (admin: Admin) => Promise<T>,
  doubt = "it is not known whether the change was made",
): Promise<T> {
  let sent = "";
  const { connection, loggedInAt, ...admin } = await connect(call, (method) => {
    sent = method;
  });
  try {
    return await work({ client: connection.client, ...admin });
  } catch (caught) {
    const thrown = loggedInAt === undefined ? caught : otherAuthority(caught, loggedInAt);
    if (!(thrown instanceof PlatformError) || isLostOutput(thrown) || (thrown.code !== "unavailable" && thrown.code !== "timeout")) throw thrown;
    const isOpen = sent !== "" && !leavesAll.test(sent);
    const usual = thrown.hint ?? "check that the platform runs there";
    throw new PlatformError(thrown.code, `${thrown.message} (${admin.via})${isOpen ? `; ${doubt}` : ""}`, {
      cause: thrown,
      hint: isOpen ? `${usual}; look before you repeat it, for example with tctl get or tctl status` : usual,
    });
  } finally {
    connection.close();
  }
}

type Connected = Omit<Admin, "client"> & { readonly connection: AuthConnection; readonly loggedInAt?: HostPort };

type OnSent = NonNullable<AuthClientOptions["onSent"]>;

async function connect(call: Call, onSent: OnSent): Promise<Connected> {
  const identity = call.options.text("identity");
  if (identity !== undefined) return await throughProxy(call, onSent, `the identity file ${identity} is in use`);
  const host = await hostConfig(call);
  const file = join(host.dataDir, "auth", "admin.json");
  const local = await readAdminFile(file);
  if (local.kind === "found") {
    const { address, ca, certificate, privateKey } = local;
    const target = parseHostPort(address, undefined, `address in ${file}`);
    const named = call.options.text("proxy") ?? host.proxyAddress;
    return {
      // This host's own service: no HTTP proxy stands between.
      connection: openAuthClient({ open: () => dial(target, { env: {} }), ca, credentials: { certificate, privateKey }, onSent }),
      via: `auth service on this host, ${address}, with ${file}`,
      proxyAddress: named === undefined ? undefined : formatHostPort(parseHostPort(named, 3080, "proxy address")),
    };
  }
  return await throughProxy(call, onSent, `${file} ${local.why}`);
}

/** `why`: the reason why this is not considered the auth host. */
async function throughProxy(call: Call, onSent: OnSent, why: string): Promise<Connected> {
  try {
    const { facts, secrets, hostCaPem } = await chosenProfile(call);
    requireValid(facts, new Date());
    const credentials = { certificate: secrets.tlsCertificate, privateKey: secrets.tlsPrivateKey };
    const proxyAddress = formatHostPort(facts.proxy);
    return {
      connection: openAuthClient({ open: () => dialProxy(facts, call.io), ca: hostCaPem, credentials, onSent }),
      loggedInAt: facts.proxy,
      via: `through the proxy ${proxyAddress}, as ${facts.user}`,
      proxyAddress,
    };
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "unauthenticated") throw thrown;
    throw new PlatformError("unauthenticated", `no credentials for the auth service: ${why}; and tsh: ${thrown.message}`, {
      cause: thrown,
      hint: "on the auth host run tctl as root (with --data-dir or --config when its data is elsewhere); on other hosts log in first: tsh login --proxy=<host:port> --user=<name>",
    });
  }
}

type AdminFile =
  | { readonly kind: "found"; readonly certificate: string; readonly privateKey: string; readonly ca: readonly string[]; readonly address: string }
  | { readonly kind: "absent"; readonly why: string };

async function readAdminFile(file: string): Promise<AdminFile> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    return {
      kind: "absent",
      why: code === "ENOENT" ? "does not exist" : code === "EACCES" ? "may not be read by this user" : `could not be read (${message})`,
    };
  }
  const value = parsed(text);
  const { certificate, privateKey, ca, address } = value ?? {};
  const whole = typeof certificate === "string" && typeof privateKey === "string" && typeof address === "string";
  if (whole && Array.isArray(ca) && ca.every((one) => typeof one === "string")) return { kind: "found", certificate, privateKey, ca, address };
  throw new PlatformError("invalid", `${file} is damaged`, {
    hint: "the auth service rewrites it at its start: restart the platform on this host",
  });
}

/** The parser's message would quote the file, which holds a key. */
function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
