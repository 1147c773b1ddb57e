import { expect, test } from "vitest";
import { type LibraryName, renderDocument } from "./render-document.ts";

const load = async (name: LibraryName) => `/* ${name} </script><!-- */`;
const render = (kind: "html" | "svg" | "markdown" | "mermaid" | "url", content: string) =>
  renderDocument({ kind, content, title: `<T "&>` }, load);

test("nothing reaches the network, and the title is text", async () => {
  for (const kind of ["html", "svg", "markdown", "mermaid", "url"] as const) {
    const { html, policy } = await render(kind, "https://example.com/");
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).not.toMatch(/https?:|connect-src|'self'/);
    expect(html).toContain("<title>&lt;T &quot;&amp;&gt;</title>");
  }
});

test("scripts of the document run only in HTML", async () => {
  expect((await render("html", "x")).policy).toContain("script-src 'unsafe-inline'");
  expect((await render("svg", "<svg/>")).policy).toContain("script-src 'none'");
  const { policy, html } = await render("markdown", "</script><script>owned()</script>");
  const [, nonce = ""] = /script-src 'nonce-([\w-]+)'/.exec(policy) ?? [];
  expect(nonce).not.toBe("");
  expect(html.split("<script").length).toBe(html.split(`<script nonce="${nonce}"`).length);
  expect(html.match(/<\/script>/g)).toHaveLength(4);
  expect(html).not.toContain("owned()</script>\n<script");
});

test("the diagram library is included only if there is a diagram", async () => {
  expect((await render("markdown", "# x")).html).not.toContain("/* mermaid");
  expect((await render("markdown", "```mermaid\ngraph LR\n```")).html).toContain("/* mermaid");
  expect((await render("mermaid", "graph LR")).html).not.toContain("/* marked");
});

test("without the libraries the document is shown as text", async () => {
  const { html } = await renderDocument({ kind: "markdown", content: "<b>x", title: "" }, async () => undefined);
  expect(html).toContain("<pre>&lt;b&gt;x</pre>");
});
