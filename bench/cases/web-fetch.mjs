// What the guard costs beside the client that it uses, and reading a page beside the library that reads it.
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DIST, interleave, median, medianRatio, SMOKE, timed } from "../harness.mjs";

export const name = "web-fetch";

const PAGE_BYTES = 500 * 1024;
const REQUESTS = SMOKE ? 50 : 1000;
const ROUNDS = 9;
const PAGE_ROUNDS = 5;

export async function run({ report }) {
  const page = makePage(PAGE_BYTES);
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(request.url === "/page" ? page : "hello");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const load = (module) => import(pathToFileURL(join(DIST, module)).href);
  const { createGuardedNet } = await load("io/net/guarded-fetch.js");
  const net = createGuardedNet({ exceptions: ["127.0.0.1"] });
  try {
    await reportGuard({ report, net, origin });
    await reportPage({ report, net, origin, page, load });
  } finally {
    await net.close();
    server.close();
    server.closeAllConnections();
  }
}

async function reportGuard({ report, net, origin }) {
  const { request } = await import("undici");
  const guarded = () => timed(() => repeat(() => net.fetch(`${origin}/`)));
  // The same request: headers cost something on both sides.
  const headers = { "user-agent": "Haft", accept: "*/*", "accept-encoding": "gzip, deflate, br" };
  const plain = () =>
    timed(() => repeat(async () => Buffer.from(await (await request(`${origin}/`, { headers })).body.arrayBuffer())));
  await interleave({ guarded, plain }, 2);
  const taken = await interleave({ guarded, plain }, ROUNDS);
  const ratio = medianRatio(taken.guarded, taken.plain);
  report({ case: "guarded fetch, × plain undici (the server's time in both)", value: ratio, unit: "×", atMost: 1.2 });
  report({ case: "guarded fetch", value: (1000 * median(taken.guarded)) / REQUESTS, unit: "µs" });
}

async function reportPage({ report, net, origin, page, load }) {
  const { createWebTools } = await load("tools/web/web-tools.js");
  // Of the same modules as the tools: the bundled package has others.
  const { createHaft } = await load("runtime.js");
  const { parseHTML } = await import("linkedom");
  const { Defuddle } = await import("defuddle/node");
  const web = createWebTools({ fetch: net.fetch, cacheTtlMs: 0 });
  const haft = createHaft({ tools: web.tools });
  try {
    const tool = () =>
      timed(async () => {
        const result = await haft.execute("web_fetch", { url: `${origin}/page` });
        if (!result.success) throw new Error(result.display);
      });
    const library = () =>
      timed(() => Defuddle(parseHTML(page).document, `${origin}/page`, { markdown: true, useAsync: false }));
    await interleave({ tool, library }, 2);
    const taken = await interleave({ tool, library }, PAGE_ROUNDS);
    const ratio = medianRatio(taken.tool, taken.library);
    report({ case: "web_fetch of 500 KB, × defuddle and linkedom alone", value: ratio, unit: "×", atMost: 2 });
    report({ case: "web_fetch of 500 KB", value: median(taken.tool), unit: "ms" });
  } finally {
    await haft.shutdown();
    await web.close();
  }
}

async function repeat(work) {
  for (let left = REQUESTS; left > 0; left--) await work();
}

function makePage(bytes) {
  const parts = [];
  for (let length = 0, n = 0; length < bytes; n++) {
    const rest =
      n % 10 === 0
        ? `<pre><code class="language-js">const a = ${n};</code></pre><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>${n}</td></tr></table>`
        : "<ul><li>one</li><li>two</li></ul>";
    const part = `<h2>Section ${n}</h2><p>A <b>long</b> paragraph, number ${n}, with <a href="/${n}">a link</a> and words that go on and on, so that it counts as an article to whoever looks at it.</p>${rest}`;
    parts.push(part);
    length += part.length;
  }
  const title = "A long page";
  return `<!doctype html><html><head><title>${title}</title></head><body><nav><a href="/">home</a></nav><article><h1>${title}</h1>${parts.join("")}</article></body></html>`;
}
