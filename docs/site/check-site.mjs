// Finds links of the built site that lead nowhere: pages, files and headings.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** `base`: the path that the site is served under. */
export function checkSite(folder, base) {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".html"));
  const texts = new Map(names.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
  const ids = new Map(Array.from(texts, ([name, text]) => [name, new Set(attributes(text, "id"))]));
  /** @type {Set<string>} */
  const problems = new Set();
  for (const [name, text] of texts) {
    for (const link of [...attributes(text, "href"), ...attributes(text, "src")]) {
      const target = new URL(link, `http://site${posix.join(base, name)}`);
      if (target.host !== "site") continue;
      const path = decodeURI(target.pathname);
      if (!path.startsWith(base)) problems.add(`${name}: ${link} is outside of ${base}`);
      const file = path.slice(base.length).replace(/(?:^|(?<=\/))$/, "index.html");
      const page = [file, `${file}.html`].find((each) => existsSync(join(folder, each)));
      if (page === undefined) problems.add(`${name}: ${link} leads to nothing`);
      const hash = decodeURIComponent(target.hash.slice(1));
      const known = page === undefined ? undefined : ids.get(page);
      if (hash !== "" && known && !known.has(hash)) problems.add(`${name}: ${link}: no heading has this id`);
    }
  }
  return { pages: names.length, problems: Array.from(problems) };
}

function attributes(html, name) {
  return Array.from(html.matchAll(new RegExp(` ${name}="([^"]*)"`, "g")), ([, value]) =>
    value.replaceAll("&amp;", "&").replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&#39;", "'"),
  );
}
