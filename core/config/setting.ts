import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";
import { type HostPort, parseHostPort } from "../transport/host-port.ts";

/** Shapes of single settings, shared by the sections. Each names the expected form in its message. */

const switchWords: Readonly<Record<string, boolean>> = { yes: true, on: true, true: true, no: false, off: false, false: false };

/** `yes`/`no` as the reference writes them (text in YAML 1.2), and `true`/`false`, `on`/`off`. */
export const onOff = z.union([z.boolean(), z.string()], "must be yes or no").transform((value, context) => {
  const meant = typeof value === "boolean" ? value : switchWords[value.toLowerCase()];
  if (meant !== undefined) return meant;
  context.addIssue({ code: "custom", message: `must be yes or no, not ${JSON.stringify(value)}` });
  return z.NEVER;
});

/** `host:port`; the port may be omitted if there is a default. */
export function hostPortText(defaultPort: number | undefined) {
  return z.string().transform((text, context): HostPort => {
    try {
      return parseHostPort(text, defaultPort, "it");
    } catch (thrown) {
      if (!(thrown instanceof PlatformError)) throw thrown;
      const message = `must be host:port; ${thrown.message.replace(/^it: /, "")}`;
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
  });
}

/** One value, or a list of them; the result is always a list. */
export function orList<T extends z.ZodType>(one: T) {
  return z.preprocess((value) => (Array.isArray(value) ? value : [value]), z.array(one).max(64));
}

/** An address that may be written as a list of one, as in the reference. Several are refused with the reason. */
export function oneAddress(defaultPort: number) {
  return orList(hostPortText(defaultPort)).transform((addresses, context): HostPort => {
    const [first] = addresses;
    if (first !== undefined && addresses.length === 1) return first;
    const why = "must be one address: clients would be sent to the first of several, which they may be unable to reach";
    context.addIssue({ code: "custom", message: addresses.length === 0 ? "must not be an empty list" : why });
    return z.NEVER;
  });
}
