import { expect, test } from "vitest";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { failurePage, homePage } from "./pages.ts";

const facts = { clusterName: "main", proxy: "p.test:443", caPins: ["sha256:ab"], version: "1.2.3", servesPackages: true };

test("what is not ours is shown as text", () => {
  const html = homePage({ ...facts, clusterName: `<script>alert("1")</script>`, proxy: `"><img src=x>:443`, caPins: ["<b>"], version: "<i>" });
  expect(html).not.toMatch(/<script|<img|<b>|<i>/);
  expect(html).toContain("&lt;script&gt;");
});

test("where packages are served it says how to install them, of this version and from here", () => {
  expect(homePage(facts)).toContain("curl -fsS https://p.test/scripts/install.sh | sudo sh -s -- 1.2.3 enterprise");
  expect(homePage(facts)).toContain("npm install --global https://p.test/packages/client/platform-client.tgz");
  const without = homePage({ ...facts, servesPackages: false, caPins: [] });
  expect(without).not.toMatch(/install\.sh|npm|ca-pin/);
});

test("a failure is shown with what to do, as two sentences of text", () => {
  const html = failurePage(new PlatformError("not_found", "this <link> is unknown", { hint: "ask an admin for a new one" }));
  expect(html).toContain('<p class="error" role="alert">This &lt;link&gt; is unknown.<br>Ask an admin for a new one.</p>');
});
