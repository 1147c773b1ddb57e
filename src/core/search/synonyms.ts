import { stem } from "./stem.ts";

/** Words that tools and their users exchange; a line is one meaning. Kept short: each line costs every query a little. */
const groups = [
  "get fetch retrieve obtain show read view lookup",
  "find search locate lookup query discover",
  "list enumerate browse",
  "create add make new insert generate build",
  "delete remove erase clear drop",
  "update modify edit change alter set",
  "send post deliver",
  "calculate compute determine estimate evaluate",
  "convert transform translate",
  "book reserve reservation",
  "buy purchase order shop",
  "cancel revoke abort",
  "start launch begin run execute open",
  "stop end terminate kill close",
  "download save export",
  "upload import attach",
  "check verify validate test",
  "schedule plan appointment calendar",
  "compare difference versus",
  "recommend suggest suggestion",
  "summarize summary abstract condense",
  "image picture photo pic",
  "email mail inbox",
  "message msg text sms chat",
  "movie film cinema",
  "song music track",
  "directory folder dir",
  "repository repo",
  "database db sql",
  "document doc",
  "configuration config setting",
  "website site webpage web url",
  "price cost fee pricing",
  "car vehicle automobile",
  "house home property apartment",
  "weather forecast temperature climate",
  "job career employment vacancy",
  "picture drawing artwork",
  "nearby near close closest nearest",
  "route direction navigate path",
  "stock share equity",
  "crypto cryptocurrency coin",
  "phone telephone mobile",
  "user account profile",
  "person contact people",
  "meal food dish recipe",
  "lawsuit case court legal",
];

const related = new Map<string, readonly string[]>();

/** Stems of the words that may stand for this stem. */
export function synonymsOf(word: string): readonly string[] {
  if (related.size === 0) fill();
  return related.get(word) ?? [];
}

function fill(): void {
  for (const group of groups) {
    const stems = [...new Set(group.split(" ").map(stem))];
    for (const one of stems) {
      const others = stems.filter((other) => other !== one);
      related.set(one, [...new Set([...(related.get(one) ?? []), ...others])]);
    }
  }
}
