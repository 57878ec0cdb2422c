import { afterEach } from "vitest";
import type { HostileRepository } from "./hostile-repository.ts";
import { InstallerHost } from "./installer-host.ts";
import { machineFixture } from "./machine-fixture.ts";
import type { MachineManager } from "./machine-options.ts";
import { machinesSkip } from "./machine-skip.ts";

/** For the tests of a `describe`: a machine with 1.0.0 of our packages, which is put back to that after each of them. */
export function installedHost(manager: MachineManager, repository: () => HostileRepository): () => InstallerHost {
  const host = machineFixture(async () => {
    const made = await InstallerHost.start(manager, repository());
    await made.value("refresh");
    for (const name of ["platform-ent", "platform-ent-updater"]) await made.value("install", name, "1.0.0");
    return made;
  });
  afterEach(async () => {
    if (machinesSkip === undefined) await host().restore();
  });
  return host;
}
