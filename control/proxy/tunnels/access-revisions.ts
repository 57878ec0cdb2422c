import type { AccessCache } from "../routing/access-cache.ts";

/** What an agent hears of the auth service's state: it fetches what it does not have. */
export interface AccessRevisions {
  readonly accessRevision: string;
  /** Left out while this proxy does not know. */
  readonly authorities?: string;
  readonly proxies?: string;
}

export function accessRevisions({ revision, authorities, proxiesRevision }: AccessCache): AccessRevisions {
  const proxies = proxiesRevision === undefined ? {} : { proxies: proxiesRevision };
  return { accessRevision: revision, ...(authorities !== undefined && { authorities }), ...proxies };
}
