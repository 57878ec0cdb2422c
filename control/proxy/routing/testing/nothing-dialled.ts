import type { CurrentIdentity } from "../../identity/current-identity.ts";

/** The identity of a proxy that dials no host. */
export const nothingDialled: Pick<CurrentIdentity, "current"> = {
  current: () => {
    throw new Error("this test expects that nothing is dialled");
  },
};
