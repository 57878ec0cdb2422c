import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HttpsAnswer } from "../../../core/transport/dial/https-get.ts";
import { parseVersion } from "../../../core/versions/parse-version.ts";

/** Maximum size of a response, bytes. */
export const maxAnswerBytes = 16_384;
/** Maximum length of an answer: anything longer is a page. */
const maxTextBytes = 256;

const words: Readonly<Record<string, boolean>> = { yes: true, true: true, no: false, false: false };

/** `v1.2.3`, or `none` where the server wants no version. Throws `unavailable`: a captive portal's page is not a version. */
export function versionOf(answer: HttpsAnswer): string {
  const text = textOf(answer);
  if (text.toLowerCase() === "none") return "none";
  const version = parseVersion(text);
  if (version === undefined) throw new PlatformError("unavailable", `returned something that is not a version: ${excerpt(text)}`);
  return `v${version.text}`;
}

/** Throws `unavailable` for anything but yes or no. A server without this path (404) means no. */
export function criticalOf(answer: HttpsAnswer): boolean {
  if (answer.status === 404) return false;
  const text = textOf(answer);
  const critical = words[text.toLowerCase()];
  if (critical === undefined) throw new PlatformError("unavailable", `returned neither yes nor no: ${excerpt(text)}`);
  return critical;
}

function textOf({ status, headers, body }: HttpsAnswer): string {
  if (status !== 200) {
    const away = status >= 300 && status < 400 ? " (redirects are not followed)" : "";
    throw new PlatformError("unavailable", `answered with HTTP status ${status}${away}`);
  }
  if (body.length > maxTextBytes)
    throw new PlatformError("unavailable", `answered with ${body.length} bytes of ${headers["content-type"] ?? "something"}`);
  return body.toString("latin1").trim();
}

/** For the log: a peer's text cannot forge a line or fill it. */
function excerpt(text: string): string {
  return JSON.stringify(text.slice(0, 40).replace(/[^ -~]/g, "?"));
}
