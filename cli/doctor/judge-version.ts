import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseVersion } from "../../core/versions/parse-version.ts";
import type { Said } from "./examination.ts";

/** The proxy's answer about itself. */
export interface ServerVersions {
  readonly server: string;
  /** The oldest client version that it accepts. */
  readonly minClient: string;
}

/** Compares this program's version with the proxy's. Throws `unsupported` when it is too old. Pure. */
export function judgeVersion(own: string, { server, minClient }: ServerVersions): Said {
  const says = `this is ${own}, the proxy is ${server}`;
  const [ownMajor, serverMajor, minMajor] = [own, server, minClient].map((text) => parseVersion(text)?.major);
  if (ownMajor === undefined || serverMajor === undefined || minMajor === undefined) {
    return { says, warning: "one of them is not a version: the answer may not be a proxy's" };
  }
  if (ownMajor < minMajor) {
    throw new PlatformError("unsupported", `${says}: the oldest client that the proxy accepts is ${minClient}`, { hint: "upgrade this program" });
  }
  const newer = ownMajor > serverMajor;
  return { says, ...(newer && { warning: "a newer major version than the proxy's may not work: install the proxy's version" }) };
}
