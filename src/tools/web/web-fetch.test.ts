import iconv from "iconv-lite";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createGuardedNet } from "../../io/net/guarded-fetch.ts";
import { type RequestHandler, startServer } from "../../../test/setup/local-server.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { createHaft } from "../../runtime.ts";
import { createPageConverter } from "./page-converter.ts";
import { createWebFetchTool, type ShownPage, type WebFetchDependencies } from "./web-fetch.ts";
import { stripMarkup } from "./html-text.ts";

const converter = createPageConverter();
afterAll(() => converter.close());

const article = (body: string): string =>
  `<html><head><title>A title</title></head><body><article><h1>Head</h1>${body}</article></body></html>`;
const WORDS = "Words that make an article of some length, so that nobody doubts that this is one. ".repeat(5);

async function open(answer: RequestHandler, dependencies: Partial<WebFetchDependencies> = {}) {
  const server = await startServer(answer);
  const net = createGuardedNet({ exceptions: [`127.0.0.1:${server.port}`] });
  const haft = createHaft({ tools: [createWebFetchTool({ fetch: net.fetch, converter, ...dependencies })] });
  onTestFinished(async () => {
    await haft.shutdown();
    await net.close();
  });
  const call = async (input: object) => {
    const result = await haft.execute("web_fetch", input);
    const pages = ((result.details as { pages?: ShownPage[] } | undefined)?.pages ?? []) as ShownPage[];
    return { result, pages, page: pages[0] as ShownPage, shown: textOf(result.content) };
  };
  return { ...server, call, haft };
}

const html: RequestHandler = (_request, response) => {
  response.writeHead(200, { "content-type": "text/html" }).end(article(`<p>${WORDS}<a href="/next">on</a></p>`));
};

describe("web_fetch", () => {
  test("returns a page as marked Markdown, with its title and absolute links", async () => {
    const { origin, call, requests } = await open(html);
    const { page, shown } = await call({ url: `${origin}/a` });
    expect(page).toMatchObject({ kind: "html", title: "A title", status: 200, finalUrl: `${origin}/a`, offset: 0 });
    expect(page.content).toContain(`[on](${origin}/next)`);
    expect(shown).toMatch(
      /^<untrusted mark="(\w+)" source="[^"]+">\n# A title\n[^]+\n<\/untrusted mark="\1">\n\[The text above/,
    );
    expect(requests[0]?.headers.accept).toContain("text/markdown");
  });

  test.each([
    ["application/json", '{"a": [1, 2]}', "json"],
    ["text/markdown", "# Already\n\n<b>so</b>", "text"],
    ["text/plain", "1 < 2", "text"],
    ["application/rss+xml", "<rss><item/></rss>", "text"],
  ])("returns %s unchanged", async (type, body, kind) => {
    const { origin, call } = await open(
      (_request, response) => void response.writeHead(200, { "content-type": type }).end(body),
    );
    expect((await call({ url: origin })).page).toMatchObject({ kind, content: body });
  });

  test("returns a PDF as text by page", async () => {
    const { origin, call } = await open(
      (_request, response) => void response.end(makePdf(["First page", "Second page"])),
    );
    const { page } = await call({ url: `${origin}/paper.pdf` });
    expect(page).toMatchObject({ kind: "pdf", pages: 2 });
    expect(page.content).toBe("--- page 1 of 2 ---\nFirst page\n\n--- page 2 of 2 ---\nSecond page");
  });

  test("refuses a broken PDF and binary data with the next step", async () => {
    const { origin, call } = await open(({ path }, response) => {
      response.end(path === "/pdf" ? "%PDF-1.4 broken" : Buffer.from([0, 1, 2, 3, 0, 0]));
    });
    expect((await call({ url: `${origin}/pdf` })).result).toMatchObject({ error: { code: "bad_encoding" } });
    expect((await call({ url: origin })).result).toMatchObject({
      error: { code: "failed", next: expect.stringContaining("http_get") },
    });
  });

  test("reads the charset of the header, of the page, and of the bytes", async () => {
    const body = article(`<p>${"你好，这是一个测试的内容。".repeat(20)}</p>`);
    const { origin, call } = await open(({ path }, response) => {
      const meta = path === "/meta" ? '<meta charset="gbk">' : "";
      response.writeHead(200, { "content-type": path === "/header" ? "text/html; charset=GBK" : "text/html" });
      response.end(iconv.encode(meta + body, "gbk"));
    });
    for (const path of ["header", "meta", "bytes"])
      expect((await call({ url: `${origin}/${path}` })).page.content).toContain("你好，这是一个测试的内容。");
  });

  test("returns long pages in consecutive parts without fetching again", async () => {
    const whole = Array.from({ length: 2000 }, (_, line) => `line ${line} 😀`).join("\n");
    const { origin, call, requests } = await open((_request, response) => {
      response.writeHead(200, { "content-type": "text/plain" }).end(whole);
    });
    let text = "";
    let offset: number | undefined = 0;
    while (offset !== undefined) {
      const { page, shown }: Awaited<ReturnType<typeof call>> = await call({ url: origin, offset, limit: 999 });
      text += page.content;
      offset = page.nextOffset;
      const hint = offset === undefined ? "do not follow" : `Use offset=${offset} to continue`;
      expect(shown).toContain(hint);
    }
    expect(text).toBe(whole);
    expect(requests).toHaveLength(1);
    expect((await call({ url: origin, offset: 10_000_000 })).shown).toContain("nothing at offset");
  });

  test("caches a page for a while, and fetches it again after that or with refresh", async () => {
    const clock = createFakeClock();
    const { origin, call, requests } = await open(html, { clock, cacheTtlMs: 60_000 });
    expect((await call({ url: `${origin}/#a` })).page.fromCache).toBeUndefined();
    expect((await call({ url: `${origin}/#b` })).page.fromCache).toBe(true);
    await call({ url: `${origin}/#b`, refresh: true });
    await clock.advance(60_001);
    await call({ url: `${origin}/#b` });
    expect(requests).toHaveLength(3);
  });

  test("fetches several pages at once and reports failures", async () => {
    const { origin, call } = await open((request, response) => {
      if (request.path === "/gone") response.writeHead(404, { "content-type": "text/html" }).end("<p>no such page</p>");
      else html(request, response);
    });
    const { result, pages, shown } = await call({
      urls: [`${origin}/1`, `${origin}/gone`, "http://10.0.0.1/", `${origin}/1`],
    });
    expect(result.status).toBe("completed");
    expect(pages.map((page) => ("error" in page ? (page.error as { code: string }).code : page.status))).toEqual([
      200,
      "failed",
      "denied",
    ]);
    expect(shown).toContain("status 404: no such page");
    expect((await call({ urls: ["http://10.0.0.1/", "http://[::1]/"] })).result).toMatchObject({
      error: { code: "denied" },
    });
    expect((await call({ url: `${origin}/gone` })).result).toMatchObject({ error: { code: "failed" } });
    expect((await call({})).result).toMatchObject({ error: { code: "invalid_input" } });
  });

  test("reports a redirect to another host, and follows one on the same host", async () => {
    const { origin, call, requests } = await open((request, response) => {
      if (request.path === "/far") response.writeHead(301, { location: "https://other.example/x" }).end();
      else if (request.path === "/near") response.writeHead(301, { location: "/here" }).end();
      else html(request, response);
    });
    const { page, shown } = await call({ url: `${origin}/far` });
    expect(page.redirect).toBe("https://other.example/x");
    expect(shown).toContain("call web_fetch with that URL");
    expect((await call({ url: `${origin}/near` })).page.finalUrl).toBe(`${origin}/here`);
    expect(requests).toHaveLength(3);
  });

  test("reports that a page needs JavaScript, or renders it if possible", async () => {
    const empty: RequestHandler = (_request, response) => {
      response
        .writeHead(200, { "content-type": "text/html" })
        .end('<body><div id="root"></div><script src="/app.js"></script></body>');
    };
    const { origin, call } = await open(empty);
    expect((await call({ url: origin })).shown).toContain("may need JavaScript");
    const rendered = await open(empty, { render: async () => article(`<p>${WORDS}</p>`) });
    expect((await rendered.call({ url: rendered.origin })).page.content).toContain("Words that make an article");
  });

  test("follows host rules for each URL", async () => {
    const { origin, haft, requests } = await open(html);
    const verdict = (urls: string[]) =>
      createHaft({
        tools: [haft.tools.registry.get("web_fetch")!],
        rules: { deny: ["WebFetch(domain:evil.example)"] },
      }).execute("WebFetch", { urls });
    expect(await verdict([origin, "https://EVIL.example./x"])).toMatchObject({ error: { code: "denied" } });
    expect(requests).toEqual([]);
    expect(await verdict([origin])).toMatchObject({ success: true });
  });
});

describe("converting pages", () => {
  test("stops a page that takes too long and continues with the next", { timeout: 60_000 }, async () => {
    const short = createPageConverter({ timeoutMs: 1 });
    onTestFinished(() => short.close());
    const page = { html: article(`<p>${WORDS}</p>`.repeat(2000)), url: "https://a.example/" };
    await expect(short.convert(page)).rejects.toThrow(/not done/);
    await expect(short.convert(page)).rejects.toThrow(/not done/);
    const giveUp = new AbortController();
    const given = converter.convert(page, giveUp.signal);
    giveUp.abort(new Error("enough"));
    await expect(given).rejects.toThrow("enough");
    expect((await converter.convert({ ...page, html: article(`<p>${WORDS}</p>`) })).title).toBe("A title");
  });

  test("does not stop the rest of the program", { timeout: 60_000 }, async () => {
    const large = article(`<p>${WORDS}</p><ul><li>x</li></ul>`.repeat(500));
    let turns = 0;
    const ticking = setInterval(() => turns++, 1);
    await converter.convert({ html: large, url: "https://a.example/" });
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(5);
  });

  test("returns the plain text of a page that is nested too deeply", { timeout: 60_000 }, async () => {
    const { origin, call } = await open((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end(`${"<div>".repeat(60_000)}${WORDS}${"</div>".repeat(60_000)}`);
    });
    const { page } = await call({ url: origin });
    expect(page.content).toContain("Words that make an article");
    expect(page.notes?.[0]).toContain("nested too deeply");
  });

  test("loads nothing for a page and runs none of its scripts", { timeout: 60_000 }, async () => {
    const { origin, call, requests } = await open((_request, response) => {
      const traps = `<img src="/i.png"><script src="/s.js"></script><link rel=stylesheet href="/c.css"><iframe src="/f"></iframe>
        <script>document.title = "changed"</script>`;
      response.writeHead(200, { "content-type": "text/html" }).end(article(`${traps}<p>${WORDS}</p>`));
    });
    expect((await call({ url: origin })).page.title).toBe("A title");
    expect(requests).toHaveLength(1);
  });
});

describe("stripping markup", () => {
  test("keeps the text and decodes entities", () => {
    expect(stripMarkup("<!-- <p>no --><script>no</script><p>a &lt; b &amp;&#33;&#x21;</p><p>c<br>d 1 < 2")).toBe(
      "a < b &!!\nc\nd 1 < 2",
    );
    expect(stripMarkup("<script>never closed <p>x")).toBe("never closed\nx");
    expect(stripMarkup("<p>cut <a href=")).toBe("cut");
  });

  test("is linear in openings that never close", () => {
    for (const piece of ["<script>", "<!--", "<", "<a ", "</script", "&#", "<p></p>"]) {
      const stripped = stripMarkup(`${piece.repeat(200_000)}end`);
      expect(stripped.length).toBeLessThanOrEqual(piece.length * 200_000 + 3);
    }
  });
});

/** One line of text per page. */
function makePdf(pages: readonly string[]): string {
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, n) => `${4 + 2 * n} 0 R`).join(" ")}] >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...pages.flatMap((line, n) => {
      const stream = `BT /F1 12 Tf 72 720 Td (${line}) Tj ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * n} 0 R >>`,
        `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
      ];
    }),
  ];
  return `%PDF-1.4\n${objects.map((body, n) => `${n + 1} 0 obj\n${body}\nendobj\n`).join("")}trailer << /Root 1 0 R /Size ${objects.length + 1} >>\n%%EOF`;
}
