/** Where a machine has the next version's programs (`PackageWorld.binds`), for versions that are nearly sound. */
export const nextDist = "/opt/platform-next";

/** How a version is broken → the script that its package has as `/usr/bin/platform`. */
export const brokenPrograms = {
  /** Ends as soon as it is started. */
  crashes: 'echo "cannot open the account database: bad magic" >&2\nexit 1\n',
  /** Starts, and does nothing for ever. */
  hangs: "while :; do sleep 3600; done\n",
  /** A sound program with no way to the cluster. */
  unconnected: `HTTPS_PROXY=http://192.0.2.1:9 NO_PROXY= exec ${nextDist}/platform "$@"\n`,
} as const;

export type Broken = keyof typeof brokenPrograms;

export function brokenProgram(kind: Broken, version: string): string {
  const answers = `case "\${1-}" in version | --version) echo "platform ${version}"; exit 0 ;; esac\n`;
  return `#!/bin/sh\n${answers}[ "\${1-}" = start ] || exec ${nextDist}/platform "$@"\n${brokenPrograms[kind]}`;
}
