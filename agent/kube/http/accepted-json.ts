import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { HeaderField } from "../../../core/resources/app-headers.ts";

/**
 * The `Accept` header of a request, reduced to JSON (tables and metadata included), because a filtered answer has to be read. Throws `unsupported` for a
 * client that does not accept JSON. Pure.
 */
export function acceptedJson(headers: readonly HeaderField[]): string {
  const accept = headers.filter(([name]) => name.toLowerCase() === "accept").map(([, value]) => value);
  if (accept.length === 0) return "application/json";
  const wanted = accept
    .join(",")
    .split(",")
    .flatMap((range) => {
      const [type = "", ...parameters] = range.split(";").map((one) => one.trim());
      return ["application/json", "application/*", "*/*"].includes(type.toLowerCase()) ? [["application/json", ...parameters].join(";")] : [];
    });
  if (wanted.length > 0) return wanted.join(",");
  throw new PlatformError("unsupported", "the answer has to be filtered by the user's roles, for which the client must accept application/json", {
    hint: "let the client accept application/json too, or give the user a role that allows all objects of the kind",
  });
}
