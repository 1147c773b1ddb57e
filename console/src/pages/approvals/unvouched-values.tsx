import { Fingerprint } from "lucide-react";
import { Link } from "wouter";
import type { Verdict } from "../../../../src/contracts/basics.ts";
import { defineWords, useWords } from "../../language.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["Who chose these values?", "这些值是谁选的？"],
  one: ["Who chose this value?", "这个值是谁选的？"],
  first: ["It first appeared in a result of", "它首次出现在以下工具的结果中："],
  origin: {
    text: [
      "It stands in a text that somebody else wrote, and you did not name it.",
      "它出现在他人写的文本中，你没有提到它。",
    ],
    unnamed: ["It is in your own data, but you did not name it.", "它在你自己的数据中，但你没有提到它。"],
    nowhere: [
      "It stands in no text that was read: the agent made it up or put it together.",
      "它不在任何读过的文本中：由代理编出或拼成。",
    ],
    unread: [
      "You did not name it. Not all texts that were read are still here, so nobody can tell where it comes from.",
      "你没有提到它。读过的文本已不完整，无法得知它的来源。",
    ],
    call: ["The call has nothing that you named.", "该调用没有任何你提到的内容。"],
    private: ["It is a private number, and it would be sent out.", "这是一个私密号码，并且会被发送出去。"],
  },
  wrote: ["You wrote", "你写的是"],
  yes: [
    "A yes covers this call and exactly these values, until the session ends. Any other value asks again.",
    "批准只涵盖此调用和这些值，直到会话结束。其他值会再次询问。",
  ],
});

type Unvouched = NonNullable<Verdict["unvouched"]>[number];

/** The values of a call that nobody vouches for: what they are, where they first appeared, and what the user wrote. */
export function UnvouchedValues({ verdict }: { verdict: Verdict | undefined }) {
  const w = useWords(words);
  const { unvouched = [], userText } = verdict ?? {};
  if (unvouched.length === 0) return null;
  const title = unvouched.length === 1 ? w.one : w.title;
  return (
    <section className="stack unvouched" aria-label={title}>
      <h3 className="row">
        <Fingerprint size={15} aria-hidden /> {title}
      </h3>
      <ul className="plain-list">
        {unvouched.map((each) => (
          <UnvouchedValue key={`${each.argument} ${each.value}`} unvouched={each} />
        ))}
      </ul>
      {userText === undefined ? null : (
        <p className="small">
          <span className="muted">{w.wrote}:</span> <q>{<VisibleText text={userText} />}</q>
        </p>
      )}
      <p className="small muted">{w.yes}</p>
    </section>
  );
}

function UnvouchedValue({ unvouched: { argument, value, authority, origin, source } }: { unvouched: Unvouched }) {
  const w = useWords(words);
  const why = authority === "call" || authority === "private" ? authority : origin;
  return (
    <li className="stack">
      {authority === "call" ? null : (
        <p className="unvouched-value">
          <VisibleText className="muted small mono" text={argument} />{" "}
          <VisibleText as="strong" className="mono" text={value} />
        </p>
      )}
      <p className="small">{w.origin[why]}</p>
      {source === undefined ? null : (
        <>
          <p className="small">
            {w.first}{" "}
            <Link className="mono" href={`/work/${encodeURIComponent(source.callId)}`}>
              <VisibleText text={source.toolName} />
            </Link>
          </p>
          <blockquote className="small">
            <Excerpt text={source.excerpt} value={value} />
          </blockquote>
        </>
      )}
    </li>
  );
}

/** What stands around the value in that text. */
function Excerpt({ text, value }: { text: string; value: string }) {
  const at = text.toLowerCase().indexOf(value.toLowerCase());
  if (at < 0) return <VisibleText text={text} />;
  const end = at + value.length;
  return (
    <>
      <VisibleText text={text.slice(0, at)} />
      <mark>
        <VisibleText text={text.slice(at, end)} />
      </mark>
      <VisibleText text={text.slice(end)} />
    </>
  );
}
