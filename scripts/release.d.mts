import type { Release } from "keep-a-changelog";

/** The releases of a changelog, newest first. Throws if it does not follow Keep a Changelog. */
export function readReleases(text: string): Release[];
/** The text of one release without its heading, in Markdown. */
export function notesOf(text: string, version: string): string;
/** The changelog with the Unreleased section as this release, and an empty Unreleased section above. */
export function dateChangelog(text: string, version: string, date: string): string;
