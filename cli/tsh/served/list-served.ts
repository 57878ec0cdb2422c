import type { ServedKind } from "../../../core/kinds/service-kinds.ts";
import type { Labels } from "../../../core/resources/metadata.ts";
import type { HostFilter } from "../../host-filter.ts";
import type { CliIo } from "../../io.ts";
import type { Profile } from "../../profile/profile.ts";
import { withAuth } from "../../profile/reach-cluster.ts";

const everything: HostFilter = { labels: {}, search: [], query: "" };

export interface ListedResource {
  readonly name: string;
  readonly labels: Labels;
  /** Facts of its kind: the protocol of a database. */
  readonly details: Readonly<Record<string, string>>;
  /** Connected hosts whose agents offer the resource. */
  readonly hosts: readonly string[];
  /** Of a database: the account that its agents make for the user. */
  readonly account?: string;
  /** A session with it needs a one-time code. */
  readonly needsCode?: boolean;
}

/** Resources of a kind that connected agents offer and that the user may reach, by name. Throws the auth service's refusal. */
export async function usableResources(
  io: CliIo,
  profile: Profile,
  kind: ServedKind,
  { labels, search, query }: HostFilter = everything,
): Promise<readonly ListedResource[]> {
  return await withAuth(io, profile, async (client) => {
    const { resources } = await client.listOffered({ kind, labels, search: [...search], query });
    return resources.map(({ name, labels, details, hostIds, makesAccount, accounts: [account], needsCode }) => ({
      name,
      labels,
      details,
      hosts: hostIds,
      ...(makesAccount && account !== undefined && { account }),
      ...(needsCode && { needsCode }),
    }));
  });
}
