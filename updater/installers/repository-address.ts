import type { HostPort } from "../../core/transport/host-port.ts";

const setting = /^\s*(?:deb\s+(?:\[[^\]]*\]\s+)?|uris:\s*|baseurl\s*=\s*)([a-z+]+:\S*)/i;

/**
 * Host and port of the repository first named in a sources list of apt (either form) or a repository file of dnf or zypper;
 * undefined if none is reached over HTTP. Never throws.
 */
export function repositoryAddress(text: string): HostPort | undefined {
  for (const line of text.split("\n")) {
    const [, written] = setting.exec(line) ?? [];
    if (written === undefined || !URL.canParse(written)) continue;
    const url = new URL(written);
    if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
    const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
    return { host: url.hostname.replace(/^\[(.*)\]$/, "$1"), port };
  }
  return undefined;
}
