import type { Access } from "../read-access.ts";

/** What the auth service has sent to a proxy: nothing but what the test states. */
export function accessOf(stated: Partial<Access>): Access {
  const keys = { hostCaPem: [], userCaPem: [], hostCaSsh: [], userCaSsh: [] };
  return {
    ...keys,
    revision: "1",
    roles: [],
    unreadable: [],
    locks: [],
    openssh: [],
    authorities: "",
    bundles: [],
    sessionRecording: "off",
    ...stated,
  };
}
