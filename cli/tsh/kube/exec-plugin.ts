import { join } from "node:path";
import { formatHostPort, type HostPort } from "../../../core/transport/host-port.ts";
import { execEnd, execStart, execVersion } from "../../profile/exec-credential.ts";
import { certificatesFolder } from "../../profile/profile-folder.ts";
import { certificatePaths } from "../../profile/resource-certificates.ts";

/** What the kubeconfig starts for the credentials of a Kubernetes cluster. */
export interface PluginFacts {
  readonly cluster: string;
  /** The proxy of the login: its folder holds the certificates. */
  readonly proxy: HostPort;
  /** Words that start tsh, the first an absolute path. */
  readonly command: readonly string[];
  /** TSH_HOME, when it is not the default. */
  readonly tshHome: string | undefined;
  /** A POSIX shell, which starts in a fraction of the time that tsh needs; undefined: there is none. */
  readonly shell: string | undefined;
}

/**
 * Prints the answer that tsh has kept in `$1` below TSH_HOME, as tsh itself would, and otherwise becomes the other arguments: tsh, which gets another certificate,
 * or says what is wrong. It answers only in the version that the file is in. It begins with `if` so that a failure of any part leads to tsh; a file that ends in
 * the middle has a last line without its end, where `read` fails. The key is in no argument: a `printf` that is another program is not used. Tests run it in
 * dash, bash and busybox.
 */
const script = [
  `f=\${TSH_HOME:-$HOME/.tsh}/$1 v='"${execVersion}"'; shift; unset c;`,
  `if [ -n "\${TSH_HOME:-$HOME}" ] && [ -f "$f" ] && [ -r "$f" ] && [ "$(command -v printf)" = printf ] &&`,
  `case \${KUBERNETES_EXEC_INFO:-$v} in *"$v"*) ;; *) false ;; esac &&`,
  `{ read -r u && case $u in '' | *[!0-9]*) false ;; esac && [ "$(date +%s)" -lt "$u" ] &&`,
  `read -r c && case $c in '${execStart}'*'${execEnd}') ;; *) false ;; esac; } 2>/dev/null <"$f";`,
  `then printf '%s\\n' "$c"; else exec "$@"; fi`,
].join(" ");

/** The `exec` of a user of the kubeconfig. Pure. */
export function execPlugin(kube: string, { cluster, proxy, command, tshHome, shell }: PluginFacts): Readonly<Record<string, unknown>> {
  const [program = "tsh", ...words] = command;
  const args = [...words, "kube", "credentials", `--kube-cluster=${kube}`, `--platform-cluster=${cluster}`, `--proxy=${formatHostPort(proxy)}`];
  const file = join(certificatesFolder("", proxy), certificatePaths({ kind: "kube", name: kube }).exec);
  return {
    apiVersion: execVersion,
    ...(shell === undefined ? { command: program, args } : { command: shell, args: ["-c", script, "tsh", file, program, ...args] }),
    env: tshHome === undefined ? null : [{ name: "TSH_HOME", value: tshHome }],
  };
}
