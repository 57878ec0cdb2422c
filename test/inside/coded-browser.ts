import { codeAt } from "../world/one-time-code.ts";
import { enrolUser } from "./enrol-user.ts";
import type { TestCluster } from "./open-cluster.ts";
import { logInBrowser, type WebAnswer, type WebBrowser } from "./web-browser.ts";

/** A user in a browser who has one code left. */
export interface CodedBrowser {
  readonly name: string;
  readonly browser: WebBrowser;
  readonly code: string;
  /** Confirms what the page opens, by that code or another one. */
  confirm(thing: object, code?: string): Promise<WebAnswer & { readonly confirmation: string }>;
}

/** A time of a cluster that stands still: in the middle of the step of a code. */
export function stillTime(): Date {
  return new Date(Math.floor(Date.now() / 30_000) * 30_000 + 15_000);
}

let people = 0;

/** Enrols a user, and logs in, in a cluster whose time stands still: of the three codes that are good then, the last one is left. */
export async function openCodedBrowser(cluster: TestCluster, now: Date, roles: readonly string[]): Promise<CodedBrowser> {
  people += 1;
  const name = `user-${people}`;
  const at = (steps: number): Date => new Date(now.getTime() + steps * 30_000);
  const { password, otpauthUri } = await enrolUser({ admin: cluster.admin, client: cluster.admin }, { name, roles, logins: [] }, at(-1));
  const browser = await logInBrowser(cluster, { user: name, password, code: codeAt(otpauthUri, at(0)) });
  const left = codeAt(otpauthUri, at(1));
  const confirm: CodedBrowser["confirm"] = async (thing, code = left) => {
    const answer = await browser("/confirmations", { method: "POST", body: { for: thing, code } });
    return { ...answer, confirmation: String(answer.body.confirmation) };
  };
  return { name, browser, code: left, confirm };
}
