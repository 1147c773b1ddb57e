import { useSyncExternalStore } from "react";
import type { BaseLocationHook, BaseSearchHook } from "wouter";

/**
 * The address of a page is in the fragment, with its query: `#/work?tool=exec`. The hook of the router keeps the query
 * before the fragment, where it stays when the user goes to another page.
 */
export const useHashLocation: BaseLocationHook & { hrefs(href: string): string } = Object.assign(
  (): [string, typeof navigate] => [useSyncExternalStore(subscribe, () => current()[0]), navigate],
  { hrefs: (href: string) => `#${href}` },
);

export const useHashSearch: BaseSearchHook = () => useSyncExternalStore(subscribe, () => current()[1]);

/** A part of a path, decoded: 1 is the page. The empty string if there is none; a malformed part is returned as it is. */
export function pathPart(location: string, at: number): string {
  const part = location.split("/")[at] ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function navigate(to: string, { replace = false, state = null }: { replace?: boolean; state?: unknown } = {}): void {
  const url = new URL(location.href);
  url.hash = to.startsWith("/") ? to : `/${to}`;
  if (url.href === location.href) return;
  history[replace ? "replaceState" : "pushState"](state, "", url);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

function subscribe(onChange: () => void): () => void {
  addEventListener("hashchange", onChange);
  addEventListener("popstate", onChange);
  return () => {
    removeEventListener("hashchange", onChange);
    removeEventListener("popstate", onChange);
  };
}

function current(): [path: string, search: string] {
  const [path = "", ...search] = location.hash.replace(/^#?\/?/, "").split("?");
  return [`/${path}`, search.join("?")];
}
