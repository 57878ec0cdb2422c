import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface ChannelAsk {
  /** As written in the configuration; it may contain slashes. */
  readonly channel: string;
  readonly what: "version" | "critical";
}

const wanted = "request /v1/webapi/automaticupgrades/channel/<name>/version or …/critical";

/** `<name>/version` or `<name>/critical`, percent-encoding allowed: the last segment selects. Throws `invalid` for anything else. */
export function parseChannelPath(path: string): ChannelAsk {
  const refuse = (why: string): never => {
    throw new PlatformError("invalid", why, { hint: wanted });
  };
  const end = path.lastIndexOf("/");
  if (end < 0) return refuse("the path has no channel name");
  const what = path.slice(end + 1);
  if (what !== "version" && what !== "critical") return refuse("the path ends neither with /version nor with /critical");
  const channel = decoded(path.slice(0, end)) ?? refuse("the channel's name is not percent-encoded text");
  if (channel.split("/").some((segment) => segment === "" || segment === "." || segment === ".."))
    return refuse("the channel's name has an empty part");
  return { channel, what };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
