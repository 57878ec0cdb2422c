import { createHash } from "node:crypto";
import { Script } from "node:vm";
import fastify from "fastify";
import { expect, test } from "vitest";
import { handOffHeaders, handOffPage } from "../app-front/hand-off-page.ts";
import { launchPageRoute } from "./launch-page.ts";

/** The inline parts of a page. */
function parts(html: string, tag: "script" | "style"): string[] {
  return [...html.matchAll(new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, "gs"))].map(([, text = ""]) => text);
}

async function launchPage(): Promise<{ html: string; policy: string }> {
  const app = fastify();
  launchPageRoute(app);
  const answer = await app.inject({ url: "/web/launch/wiki.proxy.test?path=%2F%3Cscript%3E" });
  await app.close();
  return { html: answer.body, policy: String(answer.headers["content-security-policy"]) };
}

test("the policy of each page allows its own script and style, and no other", async () => {
  const { html, policy } = await launchPage();
  const pages = [
    { html, policy },
    { html: handOffPage, policy: handOffHeaders["Content-Security-Policy"] ?? "" },
  ];
  for (const page of pages) {
    const inline = [...parts(page.html, "script"), ...parts(page.html, "style")].map((text) => createHash("sha256").update(text).digest("base64"));
    expect(page.policy.match(/'sha256-[^']+'/g)).toEqual(inline.map((hash) => `'sha256-${hash}'`));
    expect(page.policy).toMatch(/^default-src 'none'; /);
    expect(page.html).not.toMatch(/ on[a-z]+=|javascript:|style="/);
  }
});

test("the page is the same whatever its address says", async () => {
  expect((await launchPage()).html).not.toContain("wiki.proxy.test");
});

test("the scripts of the pages can be read", async () => {
  const { html } = await launchPage();
  for (const text of [...parts(html, "script"), ...parts(handOffPage, "script")]) {
    expect(() => new Script(`async () => {${text}}`)).not.toThrow();
  }
});
