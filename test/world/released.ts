import { long } from "./rounds.ts";

/** The commit of which hosts have packages: set it when a version is released. Upgrades from there are tested by `make test-long`. */
const released = "537693254451a8d949901a5e1b1ca2dd22a47947";

/** The commit, tag or branch whose packages the upgrade stories begin with: TEST_FROM, which `make test-long FROM=v1.0.0` sets. Undefined: they are skipped. */
export const upgradeFrom: string | undefined = process.env.TEST_FROM ?? (long ? released : undefined);
