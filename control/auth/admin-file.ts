import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import { formatHostPort, type HostPort } from "../../core/transport/host-port.ts";

/** Credentials for `tctl` on this host: full rights for any user who may read the file, which is only its owner. */
export function writeAdminFile(path: string, credentials: HostCredentials, address: HostPort): void {
  const content = {
    certificate: credentials.tlsCertificate,
    privateKey: credentials.tlsPrivateKey,
    ca: credentials.hostCaPem,
    address: formatHostPort({ host: localHost(address.host), port: address.port }),
  };
  // The name is this process's own: two processes may run for a moment.
  const fresh = `${path}.${process.pid}.new`;
  try {
    rmSync(fresh, { force: true });
    const file = openSync(fresh, "wx", 0o600);
    try {
      writeSync(file, `${JSON.stringify(content, undefined, 2)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(fresh, path);
  } catch (cause) {
    throw new PlatformError("unavailable", `could not write ${path}: ${errorText(cause)}`, {
      cause,
      hint: "check the folder's owner and free space",
    });
  }
}

function localHost(listen: string): string {
  if (listen === "0.0.0.0") return "127.0.0.1";
  return listen === "::" ? "::1" : listen;
}
