import { shellWord } from "./size.ts";

/** The command that opens a local port to an application. `ports`: those of one that lists several, of which the first is named. Pure. */
export function proxyAppLine(name: string, ports: string | undefined): string {
  const [first] = /^\d+/.exec(ports ?? "") ?? [];
  return `tsh proxy app ${shellWord(name)}${first === undefined ? "" : ` --port=0:${first}`}`;
}
