import { delimiter } from "node:path";

/** The environment of a program that downloads: this machine's own Node (npm's), proxies and authorities. */
export function outwardEnv(): Record<string, string> {
  const wanted = /^(https?_proxy|no_proxy|npm_config_.*|NODE_EXTRA_CA_CERTS|SSL_CERT_.*)$/i;
  const kept = Object.entries(process.env).flatMap(([name, value]) => (value !== undefined && wanted.test(name) ? [[name, value] as const] : []));
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) };
}
