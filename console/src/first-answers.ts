// What every page reads first is requested while the console is still being loaded: over a slow line that saves round trips.
// A script of its own in the page. Each answer is used once, by the request that has its address (`api.ts`).
export {};

declare global {
  /** The answers by path and query. Missing if this script could not be loaded. */
  var firstAnswers: Map<string, Promise<Response>> | undefined;
}

const EVERY_PAGE = ["session", "server", "approvals?state=pending&brief=true&limit=500"];
const WORK = ["calls?limit=50", "calls?status=running&limit=100", "calls?status=waiting&limit=100"];
/** An older answer is not used. */
const MAX_AGE_MS = 15_000;

globalThis.firstAnswers = new Map();
// Requests with an old cookie count as wrong tokens, and a link that signs in has another cookie soon.
if (localStorage.getItem("haft.signed-in") !== null && !location.hash.startsWith("#login=")) {
  const isWork = /^(?:#\/?(?:work)?)?$/.test(location.hash);
  for (const path of isWork ? [...EVERY_PAGE, ...WORK] : EVERY_PAGE) {
    const answer = fetch(new URL(`./api/${path}`, document.baseURI), { credentials: "same-origin", redirect: "error" });
    answer.catch(() => undefined);
    globalThis.firstAnswers.set(`/api/${path}`, answer);
  }
  setTimeout(() => globalThis.firstAnswers?.clear(), MAX_AGE_MS);
}
