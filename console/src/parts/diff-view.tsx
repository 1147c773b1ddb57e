import { ChevronDown, ChevronRight, Columns2, Rows3, UnfoldVertical } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { defineWords, useWords } from "../language.tsx";
import { createStore } from "../store.ts";
import { Button } from "./button.tsx";
import { useFold, useFolds, useIsWhole } from "./folds.tsx";
import { countOf } from "./format.ts";
import "./code-text.css";
import "./diff-view.css";
import {
  foldContext,
  type Mark,
  type MarkedLine,
  markWords,
  splitRows,
  withoutWhitespaceChanges,
} from "./diff/diff-rows.ts";
import { type DiffFile, type DiffHunk, type DiffLine, parseDiff } from "./diff/parse-diff.ts";
import { languageOf, type Token, useHighlight } from "./highlight.ts";
import { visibleParts, VisibleText } from "./visible-text.tsx";

const words = defineWords({
  diff: ["Changes", "修改"],
  unified: ["Unified", "合并"],
  split: ["Side by side", "并排"],
  whitespace: ["Hide white space changes", "隐藏空白修改"],
  kinds: { new: ["new", "新建"], deleted: ["deleted", "删除"], renamed: ["renamed", "重命名"], changed: ["", ""] },
  added: (count: number) => [`${countOf(count, "line")} added`, `新增 ${count} 行`],
  removed: (count: number) => [`${countOf(count, "line")} removed`, `删除 ${count} 行`],
  files: (count: number) => [countOf(count, "file"), `${count} 个文件`],
  hidden: (count: number) => [`Show ${countOf(count, "unchanged line")}`, `显示 ${count} 行未修改内容`],
  more: (count: number, left: number) => [
    `Show ${count} more of ${left} lines`,
    `再显示 ${count} 行（剩余 ${left} 行）`,
  ],
  unfold: (count: number) => [`Show ${countOf(count, "folded part")}`, `展开 ${count} 处折叠的内容`],
  cut: ["The end of this diff is missing.", "此差异的末尾缺失。"],
  part: ["only a part", "仅一部分"],
  hiddenChanges: (count: number) => [
    countOf(count, "changed line is hidden", "changed lines are hidden"),
    `已隐藏 ${count} 行修改`,
  ],
  onlyWhitespace: ["Only white space changes.", "只有空白修改。"],
  onlyName: ["Only the name changes.", "只修改名称。"],
  noNewline: ["no line break at the end", "末尾没有换行"],
  characters: (count: number) => [countOf(count, "character"), `${count} 个字符`],
});

/** Lines of a file that are shown at once. */
const PAGE = 500;
/** Beyond this many lines the other files are folded. */
const MAX_OPEN_LINES = 3_000;
const MIN_SPLIT_WIDTH = 820;

/** Unified diffs as a review shows them. Other text around them is shown as text. */
export function DiffView({ text }: { text: string }) {
  const w = useWords(words);
  const isSplit = splits.use();
  const [box, width] = useWidth();
  const parts = useMemo(() => parseDiff(text), [text]);
  const files = useMemo(() => parts.flatMap((part) => ("file" in part ? [part.file] : [])), [parts]);
  // Only for this text: the next diff, which may be one to approve, shows everything at first.
  const [hiddenIn, setHiddenIn] = useState<string>();
  const hideWhitespace = hiddenIn === text;
  const hiddenLines = useMemo(
    () => (hideWhitespace ? files.reduce((count, file) => count + hiddenLinesOf(file), 0) : 0),
    [files, hideWhitespace],
  );
  const [folded, countFolds] = useFolds();
  const [isWhole, setWhole] = useState(false);
  useFold(folded > 0 || hiddenLines > 0);
  if (files.length === 0) {
    return <VisibleText as="pre" className="code" text={text} />;
  }
  const canSplit = width >= MIN_SPLIT_WIDTH;
  // A new file and a deleted one have nothing to compare.
  const hasOld = files.some(({ kind }) => kind !== "new" && kind !== "deleted");
  let openLines = 0;
  return (
    <section className="diffs" ref={box} aria-label={w.diff}>
      <div className="row diff-tools">
        {files.length > 1 && !files.some(({ isCut }) => isCut) ? (
          <span className="muted small">
            {w.files(files.length)} <Counts added={sum(files, "added")} removed={sum(files, "removed")} />
          </span>
        ) : null}
        <span className="grow" />
        {folded === 0 ? null : (
          <Button look="small" icon={UnfoldVertical} onClick={() => setWhole(true)}>
            {w.unfold(folded)}
          </Button>
        )}
        {hasOld ? (
          <label className="inline diff-check small">
            <input
              type="checkbox"
              checked={hideWhitespace}
              onChange={({ target }) => setHiddenIn(target.checked ? text : undefined)}
            />
            {w.whitespace}
          </label>
        ) : null}
        {hideWhitespace ? (
          <strong className="small" role="status">
            {w.hiddenChanges(hiddenLines)}
          </strong>
        ) : null}
        {canSplit && hasOld ? (
          <span className="diff-views">
            <ViewButton icon={Rows3} label={w.unified} isOn={!isSplit} onUse={() => chooseSplit(false)} />
            <ViewButton icon={Columns2} label={w.split} isOn={isSplit} onUse={() => chooseSplit(true)} />
          </span>
        ) : null}
      </div>
      {countFolds(
        parts.map((part, at) => {
          if ("text" in part) {
            return <VisibleText key={at} as="pre" className="code" text={part.text} />;
          }
          const isOpen = openLines < MAX_OPEN_LINES;
          openLines += part.file.added + part.file.removed;
          return (
            <FileDiff
              key={at}
              file={part.file}
              isOpenAtFirst={isOpen}
              split={canSplit && isSplit && part.file.kind !== "new" && part.file.kind !== "deleted"}
              hideWhitespace={hideWhitespace}
            />
          );
        }),
        isWhole,
      )}
    </section>
  );
}

function ViewButton(props: { icon: typeof Rows3; label: string; isOn: boolean; onUse: () => void }) {
  const Icon = props.icon;
  return (
    <button type="button" title={props.label} aria-label={props.label} aria-pressed={props.isOn} onClick={props.onUse}>
      <Icon size={15} aria-hidden />
    </button>
  );
}

export function Counts({ added, removed }: { added: number; removed: number }) {
  const w = useWords(words);
  return (
    <span className="diff-counts">
      <span className="diff-added">
        <span aria-hidden>+{added}</span>
        <span className="sr-only">{w.added(added)}</span>
      </span>{" "}
      <span className="diff-removed">
        <span aria-hidden>−{removed}</span>
        <span className="sr-only">{w.removed(removed)}</span>
      </span>
    </span>
  );
}

function FileDiff(props: { file: DiffFile; isOpenAtFirst: boolean; split: boolean; hideWhitespace: boolean }) {
  const { file, split, hideWhitespace } = props;
  const w = useWords(words);
  const isWhole = useIsWhole();
  const [choice, setOpen] = useState<boolean>();
  const isOpen = choice ?? (props.isOpenAtFirst || isWhole);
  // What was open stays on the page, hidden: its folded parts still count.
  const wasOpen = isOpen || choice !== undefined;
  const [page, setPage] = useState(PAGE);
  const max = isWhole ? Infinity : page;
  const hunks = useMemo(() => (hideWhitespace ? hunksWithoutWhitespace(file) : file.hunks), [file, hideWhitespace]);
  const shown = useMemo(() => firstLines(hunks, max), [hunks, max]);
  const total = hunks.reduce((count, { lines }) => count + lines.length, 0);
  useFold(!wasOpen || total > max);
  const isSame = hideWhitespace && hunks.every(({ lines }) => lines.every(({ type }) => type === "same"));
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <div className="diff-file">
      <button
        type="button"
        className="line row-button diff-head"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Chevron size={15} aria-hidden />
        <span className="diff-path mono">
          {file.from === undefined ? null : (
            <>
              <VisibleText text={file.from} /> →{" "}
            </>
          )}
          <VisibleText text={file.path} />
        </span>
        {file.kind === "changed" ? null : <span className={`badge ${TONES[file.kind]}`}>{w.kinds[file.kind]}</span>}
        {/* The counts of a part would look like those of the whole. */}
        {file.isCut ? (
          <span className="badge warn">{w.part}</span>
        ) : (
          <Counts added={file.added} removed={file.removed} />
        )}
      </button>
      {wasOpen ? (
        <div hidden={!isOpen}>
          {isSame ? <p className="diff-note">{file.hunks.length === 0 ? w.onlyName : w.onlyWhitespace}</p> : null}
          {isSame
            ? null
            : shown.map((hunk, at) => <HunkDiff key={at} hunk={hunk} language={languageOf(file.path)} split={split} />)}
          {total > max ? (
            <button type="button" className="diff-more" onClick={() => setPage(page + PAGE * 4)}>
              {w.more(Math.min(PAGE * 4, total - max), total - max)}
            </button>
          ) : null}
          {file.kind !== "deleted" && file.noNewline.has("new") ? <p className="diff-note">{w.noNewline}</p> : null}
          {file.isCut ? <p className="diff-note">{w.cut}</p> : null}
        </div>
      ) : null}
    </div>
  );
}

function hunksWithoutWhitespace({ hunks }: DiffFile): DiffHunk[] {
  return hunks.map((hunk) => ({ ...hunk, lines: withoutWhitespaceChanges(hunk.lines) }));
}

/** How many changed lines look unchanged without their white space. */
function hiddenLinesOf(file: DiffFile): number {
  const added = (hunks: readonly DiffHunk[]): number =>
    hunks.reduce((count, { lines }) => count + lines.filter(({ type }) => type === "insert").length, 0);
  return added(file.hunks) - added(hunksWithoutWhitespace(file));
}

const TONES = { new: "ok", deleted: "bad", renamed: "accent", changed: "" };

function firstLines(hunks: readonly DiffHunk[], max: number): DiffHunk[] {
  let left = max;
  return hunks.flatMap((hunk) => {
    const lines = left > 0 ? hunk.lines.slice(0, left) : [];
    left -= lines.length;
    return lines.length === 0 ? [] : [{ ...hunk, lines }];
  });
}

/** A line with its colours. */
interface ShownLine extends MarkedLine {
  tokens?: readonly Token[];
}

function HunkDiff({ hunk, language, split }: { hunk: DiffHunk; language: string | undefined; split: boolean }) {
  const w = useWords(words);
  const marked = useMemo(() => markWords(hunk.lines), [hunk]);
  const tokens = useTokens(marked, language);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const runs = useMemo(
    () => foldContext(marked.map((line, at): ShownLine => ({ ...line, tokens: tokens[at] }))),
    [marked, tokens],
  );
  return (
    <table className={split ? "diff side-by-side" : "diff unified"}>
      {split ? (
        <colgroup>
          <col className="diff-col-number" />
          <col className="diff-col-sign" />
          <col />
          <col className="diff-col-number" />
          <col className="diff-col-sign" />
          <col />
        </colgroup>
      ) : (
        <colgroup>
          <col className="diff-col-number" />
          <col className="diff-col-number" />
          <col className="diff-col-sign" />
          <col />
        </colgroup>
      )}
      <tbody>
        {hunk.oldStart === 0 || hunk.newStart === 0 ? null : (
          <tr className="diff-hunk">
            <td colSpan={split ? 6 : 4}>
              @@ {hunk.oldStart} → {hunk.newStart} {hunk.place === "" ? null : visibleParts(hunk.place)}
            </td>
          </tr>
        )}
        {runs.map((run, at) =>
          "shown" in run || opened.has(at) ? (
            <Lines key={at} lines={"shown" in run ? run.shown : run.hidden} split={split} />
          ) : (
            <tr key={at} className="diff-hunk">
              <td colSpan={split ? 6 : 4}>
                <button type="button" className="diff-unfold" onClick={() => setOpened(new Set([...opened, at]))}>
                  <UnfoldVertical size={13} aria-hidden /> {w.hidden(run.hidden.length)}
                </button>
              </td>
            </tr>
          ),
        )}
      </tbody>
    </table>
  );
}

function Lines({ lines, split }: { lines: readonly ShownLine[]; split: boolean }) {
  if (!split) {
    return lines.map((line, at) => (
      <tr key={at} className={`diff-${line.type}`}>
        <td className="diff-number">{line.oldLine}</td>
        <td className="diff-number">{line.newLine}</td>
        <Code line={line} />
      </tr>
    ));
  }
  return splitRows(lines).map(({ left, right }, at) => (
    <tr key={at}>
      <td className={`diff-number diff-${left?.type ?? "none"}`}>{left?.oldLine}</td>
      <Code line={left} />
      <td className={`diff-number diff-${right?.type ?? "none"}`}>{right?.newLine}</td>
      <Code line={right} />
    </tr>
  ));
}

const SIGNS = { insert: "+", delete: "−", same: "" };

function Code({ line }: { line: ShownLine | undefined }) {
  if (!line) return <td className="diff-none" colSpan={2} />;
  return (
    <>
      <td className={`diff-sign diff-${line.type}`}>{SIGNS[line.type]}</td>
      <td className={`diff-code diff-${line.type} diff-code-${line.type}`} dir="ltr">
        <LineText line={line} />
      </td>
    </>
  );
}

/** Longer lines are shown around their changes. */
const MAX_LINE = 600;
const WINDOW = 100;

function LineText({ line }: { line: ShownLine }) {
  const w = useWords(words);
  const [isOpen, setOpen] = useState(false);
  const isAllOpen = useIsWhole();
  const { text, marks, tokens = [{ text }] } = line;
  const isWhole = text.length <= MAX_LINE || isOpen || isAllOpen;
  // Between marks nothing has changed.
  useFold(!isWhole && line.type !== "same" && marks.length === 0);
  if (text === "") return " ";
  if (isWhole) return <Pieces tokens={tokens} marks={marks} from={0} to={text.length} />;
  const shown: ReactNode[] = [];
  let at = 0;
  for (const { from, to } of windowsOf(marks, text.length)) {
    if (from > at) shown.push(<Gap key={`gap${at}`} label={w.characters(from - at)} onOpen={() => setOpen(true)} />);
    shown.push(<Pieces key={from} tokens={tokens} marks={marks} from={from} to={to} />);
    at = to;
  }
  if (at < text.length) {
    shown.push(<Gap key="end" label={w.characters(text.length - at)} onOpen={() => setOpen(true)} />);
  }
  return shown;
}

function Gap({ label, onOpen }: { label: string; onOpen: () => void }) {
  return (
    <button type="button" className="diff-gap" onClick={onOpen}>
      ⋯ {label} ⋯
    </button>
  );
}

/** Around the marks; the beginning and the end if there are none. */
function windowsOf(marks: readonly Mark[], length: number): Mark[] {
  if (marks.length === 0) {
    return [
      { from: 0, to: WINDOW * 3 },
      { from: length - WINDOW, to: length },
    ];
  }
  const windows: Mark[] = [];
  for (const mark of marks) {
    const from = Math.max(0, mark.from - WINDOW);
    const to = Math.min(length, mark.to + WINDOW);
    const last = windows.at(-1);
    if (last && from <= last.to) last.to = to;
    else windows.push({ from, to });
  }
  return windows;
}

/** A part of a line: each piece has one colour, and is marked or not. */
function Pieces(props: { tokens: readonly Token[]; marks: readonly Mark[]; from: number; to: number }) {
  const edges = props.marks.flatMap(({ from, to }) => [from, to]);
  const pieces: ReactNode[] = [];
  let start = 0;
  for (const { text, className } of props.tokens) {
    const end = start + text.length;
    const first = Math.max(start, props.from);
    const last = Math.min(end, props.to);
    const cuts = [first, ...edges.filter((edge) => edge > first && edge < last), last];
    for (let cut = 0; cut + 1 < cuts.length; cut++) {
      const from = cuts[cut] ?? 0;
      const to = cuts[cut + 1] ?? 0;
      if (to <= from) continue;
      const isMarked = props.marks.some((mark) => from >= mark.from && to <= mark.to);
      const shown = visibleParts(text.slice(from - start, to - start));
      const classes = [className, isMarked ? "diff-word" : undefined].filter(Boolean).join(" ");
      pieces.push(
        classes === "" ? (
          <span key={from}>{shown}</span>
        ) : (
          <span key={from} className={classes}>
            {shown}
          </span>
        ),
      );
    }
    start = end;
  }
  return pieces;
}

/** Both sides are coloured as whole texts: a line may begin inside a comment. */
function useTokens(lines: readonly DiffLine[], language: string | undefined): (readonly Token[] | undefined)[] {
  const [oldText, newText] = useMemo(() => {
    const textOf = (other: DiffLine["type"]): string =>
      lines.flatMap(({ type, text }) => (type === other ? [] : [text])).join("\n");
    return [textOf("insert"), textOf("delete")];
  }, [lines]);
  const oldTokens = useHighlight(oldText, language);
  const newTokens = useHighlight(newText, language);
  return useMemo(() => {
    let old = 0;
    let fresh = 0;
    return lines.map(({ type }) => {
      const before = type === "insert" ? undefined : oldTokens?.[old++];
      const after = type === "delete" ? undefined : newTokens?.[fresh++];
      return after ?? before;
    });
  }, [lines, oldTokens, newTokens]);
}

/** The same for all diffs, and remembered. */
const SETTINGS_KEY = "haft.diff";
const splits = createStore(localStorage.getItem(SETTINGS_KEY) === JSON.stringify({ split: true }));

function chooseSplit(split: boolean): void {
  localStorage.setItem(SETTINGS_KEY, JSON.stringify({ split }));
  splits.set(split);
}

function useWidth(): [React.RefObject<HTMLElement | null>, number] {
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

function sum(files: readonly DiffFile[], field: "added" | "removed"): number {
  return files.reduce((total, file) => total + file[field], 0);
}
