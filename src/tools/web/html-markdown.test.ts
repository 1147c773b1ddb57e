import { describe, expect, test } from "vitest";
import { htmlToMarkdown } from "./html-markdown.ts";

const markdown = (html: string): string => htmlToMarkdown(html, "https://a.example/docs/page").content;

test.each([
  ["headings and paragraphs", "<h1>One</h1><p>a<p>b <br> c", "# One\n\na\n\nb\nc"],
  ["emphasis and code", "<p><b>x</b> <em> y </em><code>a&lt;b</code> <del>z</del>", "**x** *y* `a<b` ~~z~~"],
  [
    "links and pictures",
    '<p><a href="../b?c=1">to (b)</a> <img src="/i.png" alt="An i">',
    "[to (b)](https://a.example/b?c=1) ![An i](https://a.example/i.png)",
  ],
  ["nested lists", "<ul><li>a<ol start=3><li>b<li>c</ol><li>d</ul>", "- a\n  3. b\n  4. c\n- d"],
  ["definitions", "<dl><dt>Tea<dd>A drink.</dl>", "**Tea**\n\nA drink."],
  ["quotes", "<blockquote><p>a<p>b</blockquote>", "> a\n>\n> b"],
  [
    "code",
    '<pre><code class="language-ts">if (a &lt; b) {\n  ```\n}</code></pre>',
    "````ts\nif (a < b) {\n  ```\n}\n````",
  ],
  [
    "a table",
    "<table><tr><th>Tea<th>Degrees<tr><td>Green<td>80<tr><td colspan=2>a|b</table>",
    "| Tea | Degrees |\n| --- | --- |\n| Green | 80 |\n| a\\|b |  |",
  ],
  [
    "a table with parts and a caption",
    "<table><caption>T</caption><thead><tr><td>a</td><td>b</td></tr></thead><tbody><tr><td><p>1</p><p>2</p></td><td>3</td></tr></tbody></table>",
    "T\n\n| a | b |\n| --- | --- |\n| 1 2 | 3 |",
  ],
  ["a table that is layout", "<table><tr><td><h2>Head</h2><p>Text</table>", "## Head\n\nText"],
  ["entities", "<p>&copy; a&nbsp;&mdash;&#33;&unknown; &Auml;&eacute;", "© a —!&unknown; Äé"],
])("writes %s", (_, html, expected) => expect(markdown(html)).toBe(expected));

test("gives the article without what surrounds it, and what the head says", () => {
  const page = htmlToMarkdown(
    `<html><head><title>Tea | Kitchen</title><meta name=author content="Ann"><meta property="og:site_name" content="K">
    <meta property="article:published_time" content="2026-01-02"></head><body><nav><a href="/">Home</a></nav>
    <article><h1>Tea</h1><p>Heat the water, but do not boil it.</p><p hidden>trap</p></article><footer>end</footer>`,
    "https://a.example/",
  );
  expect(page).toEqual({
    content: "# Tea\n\nHeat the water, but do not boil it.",
    title: "Tea | Kitchen",
    author: "Ann",
    published: "2026-01-02",
    site: "K",
  });
  expect(markdown("<body><header>menu</header><div>One <b>line</b>.</div><aside>ad</aside>")).toBe("One **line**.");
});

describe("hostile pages", () => {
  test("link nowhere that a reader could not open, and run nothing", () => {
    const html = `<p><a href="javascript:alert(1)">a</a><img src="data:x" alt="b"><a href="#c">c</a><script>d</script><style>e</style>`;
    expect(markdown(html)).toBe("abc");
  });

  test("keep their text if markup is broken", () => {
    expect(markdown('<p title="a > b">x</p></div><p>1 < 2 <a href="y')).toBe('x\n\n1 < 2 <a href="y');
    expect(markdown("<script>never closed <p>x")).toBe("never closed\n\nx");
  });

  test("take no longer than their size suggests", () => {
    for (const piece of [
      "<!--",
      "<a ",
      '<a ="',
      "<a ='\">",
      "</p",
      "<b>",
      "<font>",
      "<li>",
      "<table><tr><td>",
      "&#",
      "<p></p>",
      "<script>",
      "<title>",
    ]) {
      expect(markdown(`${piece.repeat(20_000)}end`).length).toBeLessThan(piece.length * 80_000);
    }
  });
});
