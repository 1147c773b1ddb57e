import { Link } from "wouter";
import type { ArtifactVersionInfo } from "../../../../src/contracts/artifacts.ts";
import { defineWords, useWords } from "../../language.tsx";
import { countOf } from "../../parts/format.ts";
import { TimeAgo } from "../../parts/time-ago.tsx";

const words = defineWords({
  versions: ["Versions", "版本"],
  types: {
    create: ["created", "创建"],
    update: ["updated", "更新"],
    update_fuzzy: ["updated, approximately", "近似匹配更新"],
    rewrite: ["rewritten", "重写"],
  },
  characters: (count: number, more: number) => [
    `${countOf(count, "character")}${more === 0 ? "" : ` (${signed(more)})`}`,
    `${count} 个字符${more === 0 ? "" : `（${signed(more)}）`}`,
  ],
  like: (percent: number) => [`${percent}% like what was quoted`, `与引用相似 ${percent}%`],
  call: ["The call", "该调用"],
});

function signed(count: number): string {
  return count > 0 ? `+${count}` : `−${-count}`;
}

/** The versions of a document, newest first. */
export function VersionList(props: {
  versions: readonly ArtifactVersionInfo[];
  shown: number | undefined;
  onChoose: (version: number) => void;
}) {
  const w = useWords(words);
  return (
    <section className="panel versions" aria-label={w.versions}>
      <ul className="stack rows">
        {props.versions.map(({ version, type, at, author, characters, similarity, callId }, place) => (
          <li key={version} className="row">
            <button className="button" aria-pressed={version === props.shown} onClick={() => props.onChoose(version)}>
              v{version}
            </button>
            <span>{w.types[type]}</span>
            {similarity === undefined ? null : (
              <span className="badge warn">{w.like(Math.floor(similarity * 100))}</span>
            )}
            <span className="grow cut small muted">
              {[
                author.agent,
                author.user,
                w.characters(characters, characters - (props.versions[place + 1]?.characters ?? characters)),
              ]
                .filter(Boolean)
                .join(" · ")}
            </span>
            {callId === undefined ? null : (
              <Link className="small" href={`/work/${encodeURIComponent(callId)}`}>
                {w.call}
              </Link>
            )}
            <span className="small muted">
              <TimeAgo at={at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
