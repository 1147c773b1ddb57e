/**
 * Runs in its own thread: converting a large page takes seconds, and a hostile one may take forever. It is a string, so
 * it needs no file next to the bundle. Scripts of pages do not run, and nothing is loaded for them.
 */
export const PAGE_WORKER_SOURCE = `
const { parentPort, workerData } = require("node:worker_threads");
globalThis.fetch = undefined;
console.log = console.warn = console.error = () => {};
const refuse = () => Promise.reject(new Error("nothing is loaded"));
const library = Promise.all([import(workerData.linkedom), import(workerData.defuddle)]);

const parse = (parseHTML, html, url) => {
  // A fragment has no body element.
  const { document } = parseHTML(/<(?:html|body)\\b/i.test(html) ? html : "<html><body>" + html + "</body></html>");
  document.styleSheets ??= [];
  if (document.defaultView) document.defaultView.getComputedStyle ??= () => ({ display: "" });
  document.URL = url;
  return document;
};

const convert = async ({ html, url }) => {
  const [{ parseHTML }, { Defuddle }] = await library;
  const options = { markdown: true, useAsync: false, fetch: refuse, includeReplies: true };
  const document = parse(parseHTML, html, url);
  const all = (document.body?.textContent ?? "").replace(/\\s+/g, " ").length;
  // An author found in the text is often wrong.
  const saysAuthor = document.querySelector('meta[name="author"], meta[property="article:author"], [rel="author"], [itemprop="author"]') !== null;
  const page = await Defuddle(document, url, options);
  let content = page.content ?? "";
  // If the extracted content is nearly empty, use the whole page.
  if (content.length < 500 && content.length < all / 10) {
    const whole = { ...options, contentSelector: "body", removeLowScoring: false, removePartialSelectors: false, removeContentPatterns: false };
    const again = await Defuddle(parse(parseHTML, html, url), url, whole);
    if ((again.content ?? "").length > content.length) content = again.content;
  }
  return { content, title: page.title ?? "", author: (saysAuthor && page.author) || "", published: page.published ?? "", site: page.site ?? "" };
};

parentPort.on("message", async (job) => {
  try {
    parentPort.postMessage({ page: await convert(job) });
  } catch (error) {
    parentPort.postMessage({ problem: String(error?.message ?? error) });
  }
});
`;
