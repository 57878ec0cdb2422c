import { z } from "zod";
import { canonicalHost, isThisMachine } from "../transport/dial/canonical-host.ts";
import { parseVersion } from "../versions/compare-versions.ts";
import { onOff } from "./setting.ts";

/** One version channel of the proxy: its own version, or the answer of another version server. */
export type UpgradeChannel =
  | { readonly staticVersion: string; readonly critical: boolean }
  /** `critical` omitted: as the other server answers. The URL has no trailing slash. */
  | { readonly forwardUrl: string; readonly critical?: boolean | undefined };

const maxChannels = 256;
/** A channel's name as part of a path: segments of letters, digits and `._~-`. */
const channelName = /^(?=.{1,100}$)[A-Za-z0-9_~-][A-Za-z0-9._~-]*(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$/;

const staticVersion = z
  .string()
  .refine((text) => parseVersion(text) !== undefined, 'must be a version such as "v1.2.3"')
  .transform((text) => `v${parseVersion(text)?.text ?? ""}`);

const forwardUrl = z.string().transform((text, context): string => {
  const problem = urlProblem(text);
  if (problem === undefined) return text.replace(/\/+$/, "");
  context.addIssue({ code: "custom", message: problem });
  return z.NEVER;
});

function urlProblem(text: string): string | undefined {
  const url = text.length <= 500 && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return "must be a URL such as https://updates.example.com/v1/stable/cloud";
  const local = url.protocol === "http:" && isThisMachine(canonicalHost(url.hostname));
  if (url.protocol !== "https:" && !local) return "must begin with https:// (http:// only for a server on this machine)";
  if (url.username !== "" || url.password !== "") return "must not hold a user name or password";
  if (url.search !== "" || url.hash !== "") return "must end with the path: /version and /critical are added to it";
  return undefined;
}

/** Both keys or neither are refused, together with all other problems of the file. */
const upgradeChannel = z
  .strictObject({ static_version: staticVersion.optional(), forward_url: forwardUrl.optional(), critical: onOff.optional() })
  .superRefine((channel, context) => {
    const both = "has both static_version and forward_url; keep one of them";
    const neither = "needs static_version or forward_url";
    const [own, forward] = [channel.static_version !== undefined, channel.forward_url !== undefined];
    if (own === forward) context.addIssue({ code: "custom", message: own ? both : neither });
  })
  .transform(({ static_version, forward_url, critical }): UpgradeChannel => {
    if (static_version !== undefined) return { staticVersion: static_version, critical: critical ?? false };
    return { forwardUrl: forward_url ?? "", critical };
  });

export const upgradeChannels = z
  .record(z.string().regex(channelName, "is not a valid channel name; use letters, digits and ._~- with slashes between"), upgradeChannel)
  .refine((channels) => Object.keys(channels).length <= maxChannels, `must be at most ${maxChannels} channels`);
