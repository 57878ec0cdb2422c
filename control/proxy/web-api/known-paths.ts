import type { FastifyInstance } from "fastify";

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: ReadonlySet<string>;
}

/** The paths of all routes that are added from now on, to distinguish a wrong method from a wrong path. */
export class KnownPaths {
  readonly #paths: KnownPath[] = [];

  constructor(app: FastifyInstance) {
    app.addHook("onRoute", ({ url, method }) => {
      const methods = Array.isArray(method) ? method : [method];
      this.#paths.push({ pattern: patternOf(url), methods: new Set(methods) });
    });
  }

  /** Methods of the path, in order; empty: unknown path. `url` may have a query. */
  methods(url: string): readonly string[] {
    const [path = ""] = url.split("?", 1);
    return [...new Set(this.#paths.flatMap(({ pattern, methods }) => (pattern.test(path) ? [...methods] : [])))].sort();
  }
}

/** `:name` is one segment, `*` at the end the rest. */
function patternOf(url: string): RegExp {
  const parts = url.split(/(:[A-Za-z]+|\*$)/).map((part) => {
    if (part === "*") return ".*";
    return /^:[A-Za-z]+$/.test(part) ? "[^/]+" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`);
}
