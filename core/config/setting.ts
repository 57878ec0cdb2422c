import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";
import { parseDuration } from "../resources/duration.ts";
import { labelMatchersSchema } from "../resources/role.ts";
import { isAead, knownAlgorithms, type SshAlgorithms, usualAlgorithms } from "../ssh/algorithms.ts";
import { type HostPort, parseHostPort } from "../transport/host-port.ts";

/** Shapes of single settings, shared by the sections. Each names the expected form in its message. */

const switchWords: Readonly<Record<string, boolean>> = { yes: true, on: true, true: true, no: false, off: false, false: false };

/** Seconds. */
export const positiveDuration = z.string().transform((text, context) => {
  try {
    const seconds = parseDuration(text);
    if (seconds > 0) return seconds;
  } catch {
    // The issue below has the expected form.
  }
  context.addIssue({ code: "custom", message: 'must be a duration such as "12h" or "1h30m"' });
  return z.NEVER;
});

/** `yes`/`no` as the reference writes them (text in YAML 1.2), and `true`/`false`, `on`/`off`. */
export const onOff = z.union([z.boolean(), z.string()], "must be yes or no").transform((value, context) => {
  const meant = typeof value === "boolean" ? value : switchWords[value.toLowerCase()];
  if (meant !== undefined) return meant;
  context.addIssue({ code: "custom", message: `must be yes or no, not ${JSON.stringify(value)}` });
  return z.NEVER;
});

/** A whole number of `what`, such as connections. */
export function wholeNumber(what: string, { least, most }: { readonly least: number; readonly most: number }) {
  const text = `must be a whole number of ${what}, ${least} to ${most}`;
  return z.int(text).min(least, text).max(most, text);
}

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

type Kind = keyof SshAlgorithms;

/** A list of names, as the reference writes it. Omitted for the defaults. */
function algorithmList(kind: Kind) {
  const known: readonly string[] = knownAlgorithms[kind];
  const names = known.join(", ");
  return z
    .array(
      z
        .string()
        .refine((name) => known.includes(name), { error: ({ input }) => `${JSON.stringify(input)} is not supported; the names here are ${names}` }),
    )
    .min(1, `must not be an empty list; the names here are ${names}`)
    .max(64)
    .transform((list) => [...new Set(list)])
    .default([...usualAlgorithms[kind]]);
}

/** Algorithms that our SSH servers offer: the agent's, the jump port's, the tunnel port's. */
export const sshAlgorithmKeys = {
  ciphers: algorithmList("ciphers").refine((list) => list.some(isAead), {
    error: `must hold one of ${knownAlgorithms.ciphers.filter(isAead).join(", ")}: tsh and the cluster's own connections have no others`,
  }),
  kex_algos: algorithmList("kexAlgos"),
  mac_algos: algorithmList("macAlgos"),
};

/** From the section that holds these keys. */
export function sshAlgorithms(section: { readonly ciphers: string[]; readonly kex_algos: string[]; readonly mac_algos: string[] }): SshAlgorithms {
  return { ciphers: section.ciphers, kexAlgos: section.kex_algos, macAlgos: section.mac_algos };
}

/** Resources of the cluster that an agent offers besides those of its file: those whose labels match one of these. */
export const chosenByLabels = z
  .array(z.strictObject({ labels: labelMatchersSchema }))
  .max(64)
  .default([]);
