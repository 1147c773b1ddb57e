import { useMemo } from "react";
import { Diff, Hunk, parseDiff } from "react-diff-view";
import "react-diff-view/style/index.css";
import { VisibleText } from "./visible-text.tsx";

/** A unified diff. Text that is not a diff is shown as text. */
export function DiffView({ text }: { text: string }) {
  const files = useMemo(() => {
    try {
      const parsed = parseDiff(withGitHeader(text));
      return parsed.some(({ hunks }) => hunks.length > 0) ? parsed : [];
    } catch {
      return [];
    }
  }, [text]);
  if (files.length === 0) {
    return (
      <pre className="code">
        <VisibleText text={text} />
      </pre>
    );
  }
  return (
    <div className="diffs">
      {files.map((file, at) => (
        <div key={at} className="diff-file">
          <header className="mono small">{file.newPath === "/dev/null" ? file.oldPath : file.newPath}</header>
          <Diff
            viewType="unified"
            diffType={file.type}
            hunks={file.hunks}
            renderToken={(token, render, key) =>
              token.type === "text" ? <VisibleText key={key} text={`${token["value"] ?? ""}`} /> : render(token, key)
            }
          >
            {(hunks) => hunks.map((hunk) => <Hunk key={hunk.content} hunk={hunk} />)}
          </Diff>
        </div>
      ))}
    </div>
  );
}

export function looksLikeDiff(text: string): boolean {
  return /^--- .*\n\+\+\+ /m.test(text) && /^@@ /m.test(text);
}

/** The parser needs a git header before each file. */
function withGitHeader(text: string): string {
  return text.replace(/^--- (\S+).*\n\+\+\+ (\S+).*$/gm, (all, from: string, to: string, at: number, whole: string) =>
    whole.slice(0, at).endsWith("\n") && /diff --git .*\n$/.test(whole.slice(0, at))
      ? all
      : `diff --git ${from} ${to}\n${all}`,
  );
}
