// Links to files and headings of the repository must lead somewhere. Addresses on the web are not opened.
import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { headingsOf } from "./read-document.mjs";

const LINK = /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|^\s*\[[^\]]+\]:\s*(\S+)|\b(?:src|href)="([^"]+)"/g;

export function checkLinks(documents, root) {
  const headings = new Map(documents.map((document) => [document.file, new Set(headingsOf(document))]));
  return documents.flatMap(({ file, lines }) =>
    lines.flatMap(({ line, text }) => {
      const targets = Array.from(
        withoutCode(text).matchAll(LINK),
        ([, inline, reference, html]) => inline ?? reference ?? html,
      );
      return targets.flatMap((target) => {
        const message = checkTarget(target, { file, root, headings });
        return message === undefined ? [] : [{ file, line, message }];
      });
    }),
  );
}

function withoutCode(text) {
  return text.replaceAll(/(`+)[^`].*?\1/g, (span) => span.replaceAll(/[[\]()]/g, " "));
}

function checkTarget(target, { file, root, headings }) {
  if (/^[a-z][a-z+.-]*:/i.test(target)) return undefined;
  const [path = "", heading] = decodeURI(target).split("#");
  const to =
    path === ""
      ? file
      : normalize(join(dirname(file), path))
          .replaceAll("\\", "/")
          .replace(/\/$/, "");
  if (to.startsWith("..")) return `The link ${target} leads out of the repository`;
  if (!existsSync(join(root, to))) return `The link ${target} leads to no file`;
  if (heading === undefined) return undefined;
  const page = statSync(join(root, to)).isDirectory() ? `${to}/README.md` : to;
  const known = headings.get(page);
  return known === undefined || known.has(heading) ? undefined : `${page} has no heading for #${heading}`;
}
