import type { TLSSocket } from "node:tls";
import type { ServedKind } from "../../../core/kinds/service-kinds.ts";
import type { StreamParameters } from "../../../core/kinds/stream-kinds.ts";
import { enterServed, type ServedEntry } from "../../../core/transport/enter-served.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import type { CliIo } from "../../io.ts";
import type { Profile } from "../../profile/profile.ts";
import { credentialsFor } from "../../profile/resource-certificates.ts";
import { accountOf, openStream } from "../open-stream.ts";

export interface ServedTarget<Kind extends ServedKind = ServedKind> {
  readonly kind: Kind;
  readonly name: string;
  readonly parameters: StreamParameters<Kind>;
}

/** A connection to a resource that agents serve, through the proxy, which cannot read it. Throws the refusal of the proxy or the agent. */
export async function openServed<Kind extends ServedKind>(io: CliIo, profile: Profile, target: ServedTarget<Kind>): Promise<TLSSocket> {
  const { kind, name, parameters } = target;
  const outer = await openStream(io, { profile, kind, target: name, parameters });
  return await enterServed(outer, servedEntry(profile, target));
}

/** What the agent gets to see. Throws `unauthenticated` without a certificate for the resource. */
export function servedEntry<Kind extends ServedKind>(profile: Profile, { kind, name, parameters }: ServedTarget<Kind>): ServedEntry {
  const request = { kind, target: name, parameters, clientAddress: "", sessionId: "", accessRevision: "" } as StreamRequest<ServedKind>;
  const user = credentialsFor(profile, { kind, name, account: accountOf(parameters) }, new Date());
  return { request, user, hostCaPem: profile.hostCaPem };
}
