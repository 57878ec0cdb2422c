/** Maximum number of violations that are kept: one page can cause thousands. */
const most = 100;
const binding = "platformPolicyViolated";

/** Reports each violation of a page's policy, in any browser: `script` runs in every document before its own, and calls the function `binding` with a line. */
export const reportViolations = {
  binding,
  script: `document.addEventListener("securitypolicyviolation", ({ documentURI, effectiveDirective, blockedURI, sample }) => {
    ${binding}([documentURI, effectiveDirective, blockedURI, sample].join(" "));
  })`,
  /** For the story of such a check: breaks the policy of a page of the proxy. */
  breakPolicy: `document.body.append(Object.assign(new Image(), { src: "https://evil.test/picture.png" }))`,
  keep: (violations: string[], text: string): void => {
    if (violations.length < most) violations.push(text);
  },
};
