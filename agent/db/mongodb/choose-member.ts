import { PlatformError } from "../../../core/errors/platform-error.ts";
import { formatHostPort, type HostPort, parseHostPort } from "../../../core/transport/host-port.ts";
import { type MemberFacts, maxMembers } from "./hello.ts";

/** The options of a database's URI that choose a member. */
export interface MemberWish {
  readonly replicaSet: string | undefined;
  readonly readPreference: "primary" | "primaryPreferred" | "secondary" | "secondaryPreferred" | "nearest";
}

const preferences = ["primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"] as const;

/** Name of the set that the uri expects. */
export function replicaSetOf(options: ReadonlyMap<string, string>): string | undefined {
  return optionOf(options, "replicaset");
}

/** Names of options are case-insensitive. */
function optionOf(options: ReadonlyMap<string, string>, name: string): string | undefined {
  return [...options].find(([key, value]) => key.toLowerCase() === name && value !== "")?.[1];
}

/** Reads the wish from the options of the URI. Throws `invalid`. */
export function memberWish(options: ReadonlyMap<string, string>): MemberWish {
  const asked = optionOf(options, "readpreference") ?? "primary";
  const readPreference = preferences.find((one) => one === asked);
  if (readPreference === undefined)
    throw new PlatformError("invalid", `the database's uri asks for readPreference ${JSON.stringify(asked.slice(0, 100))}`, {
      hint: `write one of ${preferences.join(", ")}`,
    });
  return { replicaSet: replicaSetOf(options), readPreference };
}

/** How well a member suits: `fallback` is used only where no other member suits better. Pure. */
export function suitability(facts: MemberFacts, wish: MemberWish): "use" | "fallback" | "no" {
  const { setName, isPrimary, isSecondary } = facts;
  if (setName === undefined) return wish.replicaSet === undefined ? "use" : "no";
  if (wish.replicaSet !== undefined && setName !== wish.replicaSet) return "no";
  if (!isPrimary && !isSecondary) return "no";
  switch (wish.readPreference) {
    case "primary":
      return isPrimary ? "use" : "no";
    case "secondary":
      return isSecondary ? "use" : "no";
    case "primaryPreferred":
      return isPrimary ? "use" : "fallback";
    case "secondaryPreferred":
      return isSecondary ? "use" : "fallback";
    case "nearest":
      return "use";
  }
}

/** Members to ask next, by what this one knows; the primary first where it is wanted. Pure. */
export function knownMembers({ primary, hosts }: MemberFacts, { readPreference }: MemberWish): readonly HostPort[] {
  const wantsPrimary = readPreference === "primary" || readPreference === "primaryPreferred";
  const names = primary !== undefined && wantsPrimary ? [primary, ...hosts] : hosts;
  return names.flatMap((name) => {
    try {
      return [parseHostPort(name, 27_017, "member")];
    } catch {
      return [];
    }
  });
}

/** Members in the order in which they are to be asked. */
export class Candidates {
  readonly #known: HostPort[] = [];
  readonly #names = new Set<string>();
  #next = 0;

  constructor(addresses: readonly HostPort[]) {
    this.add(addresses);
  }

  /** These come next, before the others that have not been asked. */
  add(addresses: readonly HostPort[]): void {
    const fresh = new Map(addresses.map((address) => [formatHostPort(address), address]));
    for (const name of fresh.keys()) if (this.#names.has(name) || this.#names.size >= maxMembers) fresh.delete(name);
    for (const name of fresh.keys()) this.#names.add(name);
    this.#known.splice(this.#next, 0, ...fresh.values());
  }

  /** Undefined: all have been asked. */
  next(): HostPort | undefined {
    const one = this.#known[this.#next];
    this.#next += 1;
    return one;
  }
}
