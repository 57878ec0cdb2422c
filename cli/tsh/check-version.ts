import { PlatformError } from "../../core/errors/platform-error.ts";
import { judgeFit, misfitText } from "../../core/versions/judge-fit.ts";

/**
 * The warning before a login to a cluster; undefined: none. A tsh newer by a major may work. Throws `unsupported` for a tsh that is
 * too old, unless the user chose to try it. Pure.
 */
export function checkVersion({ own, cluster, skip }: { own: string; cluster: string; skip: boolean }): string | undefined {
  const misfit = misfitText("this tsh", { peer: own, cluster });
  if (misfit === undefined) return undefined;
  if (judgeFit(own, cluster) === "too_old" && !skip)
    throw new PlatformError("unsupported", misfit.message, { hint: `${misfit.hint}, or try it with --skip-version-check` });
  return `${misfit.message}: newer features may not work`;
}
