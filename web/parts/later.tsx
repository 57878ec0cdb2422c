import type { ComponentType } from "preact";
import { useLoaded } from "../api/load.ts";
import { CallError } from "../api/request.ts";
import { Answer } from "./page.tsx";

/** A page whose code is fetched when it is first opened: the first load is for the pages that everybody sees. */
export function later(name: string, load: () => Promise<ComponentType>): ComponentType {
  const fetched = async (): Promise<{ readonly Content: ComponentType }> => {
    try {
      return { Content: await load() };
    } catch {
      // The proxy may have another version meanwhile, which has other files.
      throw new CallError("unavailable", "could not load this page", "reload it in the browser");
    }
  };
  return function Later() {
    const loaded = useLoaded(name, fetched, { isKept: true });
    return <Answer of={loaded}>{({ Content }) => <Content />}</Answer>;
  };
}
