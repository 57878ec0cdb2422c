import { registerHooks } from "node:module";

/* Node loads the sources of tests itself, which takes a fresh checkout less time than Vite's transforms. What the build does with modules, this does for tests. */

/** By what a specifier ends with: the module that is loaded in its place. */
const replacements = new Map([
  // The build puts its own loader there.
  ["/host-addon.ts", new URL("../world/compiled-host-addon.ts", import.meta.url).href],
  // The build takes the ES module that `module` of its package.json names; Node does not know that field.
  ["@xterm/xterm", new URL("../../node_modules/@xterm/xterm/lib/xterm.mjs", import.meta.url).href],
]);

registerHooks({
  resolve(specifier, context, next) {
    for (const [end, url] of replacements) if (specifier.endsWith(end)) return { url, shortCircuit: true };
    return next(specifier, context);
  },
});
