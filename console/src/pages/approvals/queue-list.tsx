import { MessageCircleQuestionMark } from "lucide-react";
import { useMemo } from "react";
import { Link } from "wouter";
import { defineWords, useWords } from "../../language.tsx";
import { callerText, SessionName } from "../../parts/caller-name.tsx";
import { CallSubject } from "../../parts/call-subject.tsx";
import { RiskBadge } from "../../parts/risk-badge.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { useToolTitle } from "../../parts/tool-text.ts";
import { VisibleText } from "../../parts/visible-text.tsx";
import { TimeLeft } from "./countdown.tsx";
import { isBatchable, type QueueItem, sessionOf } from "./queue.ts";
import { VirtualRows } from "./virtual-rows.tsx";

const words = defineWords({
  select: (what: string) => [`Select ${what}`, `选择 ${what}`],
  selectSession: (session: string) => [`Select everything of ${session}`, `选择 ${session} 的全部`],
  noSession: ["Without a session", "无会话"],
  someone: ["unnamed caller", "未命名的调用者"],
  server: ["MCP server asks", "MCP 服务器提问"],
  question: ["question", "提问"],
  gone: ["no longer open", "已不再等待"],
});

interface QueueListProps {
  label: string;
  items: readonly QueueItem[];
  bySession: boolean;
  currentId: string | undefined;
  selected: ReadonlySet<string>;
  addressOf: (id: string) => string;
  /** `isRange`: everything between this row and the last one. */
  onSelect: (ids: readonly string[], options: { isRange: boolean }) => void;
}

type Row = { item: QueueItem } | { session: string; ids: string[] };

/** A longer time to answer is not shown. */
const SHOWN_MS = 3_600_000;
const ROW_HEIGHT = 62;
const HEAD_HEIGHT = 36;

export function QueueList(props: QueueListProps) {
  const { items, bySession, currentId } = props;
  const rows = useMemo(() => (bySession ? groupRows(items) : items.map((item): Row => ({ item }))), [items, bySession]);
  return (
    <VirtualRows
      label={props.label}
      rows={rows}
      keyOf={keyOf}
      heightOf={(row) => ("item" in row ? ROW_HEIGHT : HEAD_HEIGHT)}
      classOf={(row) => ("item" in row ? "queue-row" : "queue-head")}
      currentKey={currentId}
    >
      {(row) =>
        "item" in row ? (
          <ItemRow {...props} item={row.item} isCurrent={row.item.id === currentId} />
        ) : (
          <SessionHead {...props} {...row} />
        )
      }
    </VirtualRows>
  );
}

function ItemRow({ item, isCurrent, selected, addressOf, onSelect }: QueueListProps & ItemRowProps) {
  const w = useWords(words);
  const { id, level, subject, toolName, caller, askedAt, expiresAt, isGone } = item;
  const title = useToolTitle()(item);
  const who = callerText(caller.agent === undefined ? caller : { agent: caller.agent }, w.someone);
  return (
    <>
      {isBatchable(item) ? (
        <label className="queue-check">
          <input
            type="checkbox"
            aria-label={w.select(`${title ?? toolName} ${subject.text}`)}
            checked={selected.has(id)}
            onChange={({ nativeEvent }) =>
              onSelect([id], { isRange: nativeEvent instanceof MouseEvent && nativeEvent.shiftKey })
            }
          />
        </label>
      ) : (
        <span className="queue-check" />
      )}
      <Link
        href={addressOf(id)}
        className={isGone ? "stack queue-link gone" : "stack queue-link"}
        aria-current={isCurrent}
      >
        <span className="line queue-line">
          <span className="queue-subject">
            <CallSubject subject={subject} />
          </span>
          <span className="queue-age">
            <TimeAgo at={askedAt} />
          </span>
        </span>
        <span className="line queue-line small muted">
          {item.question || item.approval?.questions ? (
            <span className="badge">
              <MessageCircleQuestionMark size={14} aria-hidden /> {w.question}
            </span>
          ) : (
            <RiskBadge level={level} short />
          )}
          <span className="cut">
            {item.question ? <>{w.server}: </> : null}
            {title === undefined ? null : <>{title} · </>}
            <VisibleText className="mono" text={toolName} />
            {item.question ? null : (
              <>
                {" · "}
                <VisibleText text={who} />
              </>
            )}
            {caller.session === undefined ? null : (
              <>
                {" · "}
                <SessionName session={caller.session} />
              </>
            )}
          </span>
          <span className="queue-age">
            {isGone ? <span className="badge">{w.gone}</span> : null}
            {!isGone && expiresAt !== undefined && expiresAt - Date.now() < SHOWN_MS ? (
              <TimeLeft until={expiresAt} />
            ) : null}
          </span>
        </span>
      </Link>
    </>
  );
}

interface ItemRowProps {
  item: QueueItem;
  isCurrent: boolean;
}

function SessionHead({ session, ids, selected, onSelect }: QueueListProps & { session: string; ids: string[] }) {
  const w = useWords(words);
  const name = session === "" ? w.noSession : session;
  return (
    <>
      <label className="queue-check">
        <input
          type="checkbox"
          aria-label={w.selectSession(name)}
          checked={ids.every((id) => selected.has(id))}
          onChange={() => onSelect(ids, { isRange: false })}
        />
      </label>
      <span className="queue-session cut">
        <VisibleText text={name} /> <span className="muted">({ids.length})</span>
      </span>
    </>
  );
}

/** New rows are at the end, so a session may have more than one group. */
function groupRows(items: readonly QueueItem[]): Row[] {
  const rows: Row[] = [];
  let group: { session: string; ids: string[] } | undefined;
  for (const item of items) {
    const session = sessionOf(item);
    if (group?.session !== session) rows.push((group = { session, ids: [] }));
    if (isBatchable(item)) group.ids.push(item.id);
    rows.push({ item });
  }
  return rows;
}

function keyOf(row: Row): string {
  return "item" in row ? row.item.id : `session ${row.session} ${row.ids[0] ?? ""}`;
}
