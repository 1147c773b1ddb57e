import { useSyncExternalStore } from "react";

/** The address of a page, `#/work?tool=exec`: path and query are both in the fragment, so the server never sees them. */
function readAddress(): { path: string; query: string } {
  const [path = "", query = ""] = location.hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  return { path: `/${path}`, query };
}

const listeners = new Set<() => void>();
/** The address that is shown. The browser changes its own a moment before it says so, and all pages must change together. */
let shown = readAddress();

/** The link that signs a browser in. It is no page: `app.tsx` takes the token and replaces the address. */
export const LOGIN_LINK = /^#login=([\w-]+)$/;

addEventListener("hashchange", () => {
  if (!LOGIN_LINK.test(location.hash)) notify();
});

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(): void {
  shown = readAddress();
  for (const listener of listeners) listener();
}

function navigate(to: string, { replace = false, state = null }: { replace?: boolean; state?: unknown } = {}): void {
  const { path, query } = readAddress();
  // The person has left the page that wants to change its address.
  if (replace && (path !== shown.path || query !== shown.query)) return;
  const url = new URL(location.href);
  url.hash = `/${to.replace(/^#?\/?/, "").replace(/\?$/, "")}`;
  // An older console kept the query outside the fragment.
  url.search = "";
  if (url.href !== location.href) history[replace ? "replaceState" : "pushState"](state, "", url);
  notify();
}

/** Removes what the address has besides a page: a token, or the answer of a sign-in page. */
export function replaceAddress(hash: string): void {
  history.replaceState(null, "", `${location.pathname}${hash}`);
  notify();
}

/** The `hook` of wouter's router: the path. */
export function useHashLocation(): [string, typeof navigate] {
  return [useSyncExternalStore(subscribe, () => shown.path), navigate];
}
useHashLocation.hrefs = (href: string): string => `#${href}`;

/** The `searchHook` of wouter's router: `useSearchParams` reads and changes the query of the page. */
export function useHashSearch(): string {
  return useSyncExternalStore(subscribe, () => shown.query);
}

/** A part of a path, decoded: 1 is the page. Empty if there is none; a malformed part is returned as it is. */
export function pathPart(path: string, at: number): string {
  const part = path.split("/")[at] ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
