import { PlatformError } from "../../core/errors/platform-error.ts";
import { parseVersion } from "../../core/versions/parse-version.ts";
import type { Said } from "./examination.ts";

/** What the proxy says of itself. */
export interface ServerVersions {
  readonly server: string;
  /** The oldest client that it speaks with. */
  readonly minClient: string;
}

/** This program's version beside the proxy's. Throws `unsupported` when it is too old. Pure. */
export function judgeVersion(own: string, { server, minClient }: ServerVersions): Said {
  const says = `this is ${own}, the proxy is ${server}`;
  const [ownMajor, serverMajor, minMajor] = [own, server, minClient].map((text) => parseVersion(text)?.major);
  if (ownMajor === undefined || serverMajor === undefined || minMajor === undefined) {
    return { says, warning: "one of them is no version: the answer may not be a proxy's" };
  }
  if (ownMajor < minMajor) {
    throw new PlatformError("unsupported", `${says}: the oldest that it takes is ${minClient}`, { hint: "upgrade this one" });
  }
  const newer = ownMajor > serverMajor;
  return { says, ...(newer && { warning: "a newer major version than the proxy's may not work: take the proxy's" }) };
}
