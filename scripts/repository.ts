import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { readChannel } from "./repository/channel.ts";
import { publishRepository } from "./repository/publish.ts";

/*
 * repository.ts --out DIR (--key FILE | --gnupghome DIR) [--packages DIR] [--channel cloud|v1 …] [--sign-with KEY …]
 * [--passphrase-file FILE] [--prereleases]: adds packages to the signed apt and yum repositories in DIR, or makes them
 * (docs/packages.md). Needs apt-ftparchive, createrepo_c, rpmsign, gpg.
 */

const { values } = parseArgs({
  options: {
    packages: { type: "string" },
    out: { type: "string" },
    key: { type: "string" },
    gnupghome: { type: "string" },
    "sign-with": { type: "string", multiple: true },
    "passphrase-file": { type: "string" },
    channel: { type: "string", multiple: true },
    prereleases: { type: "boolean", default: false },
  },
});
try {
  await publish();
} catch (failure) {
  process.stderr.write(`ERROR: ${failure instanceof Error ? failure.message : String(failure)}\n`);
  process.exitCode = 1;
}

async function publish(): Promise<void> {
  if (values.out === undefined) throw new Error("--out DIR says where the repository is");
  const { packages, key, gnupghome, channel } = values;
  const passphrase = values["passphrase-file"];
  const { channels, left } = await publishRepository({
    out: resolve(values.out),
    ...(packages === undefined ? {} : { packages: resolve(packages) }),
    ...(channel === undefined ? {} : { channels: channel.map(readChannel) }),
    keys: {
      ...(key === undefined ? {} : { key: resolve(key) }),
      ...(gnupghome === undefined ? {} : { gnupghome: resolve(gnupghome) }),
      ...(passphrase === undefined ? {} : { passphraseFile: resolve(passphrase) }),
      signWith: values["sign-with"] ?? [],
    },
    prereleases: values.prereleases,
    now: new Date(),
  });
  for (const [name, count] of Object.entries(channels)) process.stdout.write(`${name}: ${count} packages\n`);
  for (const file of left) process.stdout.write(`${file}: in no channel (pre-releases only with --prereleases)\n`);
}
