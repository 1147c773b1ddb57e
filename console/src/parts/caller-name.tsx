import { Bot, CalendarClock, ListTodo, type LucideIcon, Plug, User } from "lucide-react";
import { useMemo } from "react";
import { Link } from "wouter";
import type { CallInfo } from "../../../src/contracts/calls.ts";
import { useApi } from "../api.ts";
import { defineWords, useWords } from "../language.tsx";
import { VisibleText } from "./visible-text.tsx";

const words = defineWords({
  schedule: ["Schedule", "计划"],
  client: ["Client", "客户端"],
  agent: ["Agent", "代理"],
  job: ["Job", "任务"],
  person: ["Person", "用户"],
  program: ["Program", "程序"],
  deleted: ["a deleted schedule", "已删除的计划"],
});

type Called = Pick<CallInfo, "caller" | "origin" | "callId">;

/** The names of schedules by id. Empty if this server has none. */
export function useScheduleNames(): ReadonlyMap<string, string> {
  const parts = useApi("server", "info", []).data?.parts;
  const { data } = useApi("schedules", "list", parts?.includes("schedules") ? [{}] : undefined);
  return useMemo(() => new Map(data?.items.map(({ id, name }) => [id, name ?? id])), [data]);
}

/** A client of the MCP server calls itself so. */
function plainAgent(agent: string | undefined): string | undefined {
  return agent?.replace(/^mcp:/, "");
}

/** Who made a call, in words: `someone` if nothing is known. */
export function callerText({ user, agent }: { user?: string; agent?: string }, someone: string): string {
  return [user, plainAgent(agent)].filter(Boolean).join(" · ") || someone;
}

/** Sessions of MCP clients are named by an id that nobody reads: its beginning tells them apart. */
export function SessionName({ session }: { session: string }) {
  const short = session.replace(/([\da-f]{8})(?:-[\da-f]{4}){3}-[\da-f]{12}$/, "$1…");
  return <VisibleText title={short === session ? undefined : session} text={short} />;
}

/** Where a session is shown: of an agent its conversation, of another client its calls. */
export function useSessionPath(): (session: string) => string {
  const parts = useApi("server", "info", []).data?.parts;
  const sessions = useApi("sessions", "list", parts?.includes("sessions") ? [{}] : undefined).data?.items;
  return (session) => {
    const name = encodeURIComponent(session);
    return sessions?.some(({ key }) => key === session) ? `/sessions/${name}` : `/work?session=${name}`;
  };
}

export function SessionLink({ session }: { session: string }) {
  return (
    <Link className="mono" href={useSessionPath()(session)}>
      <SessionName session={session} />
    </Link>
  );
}

/** The schedule that made the call: its runs are numbered. */
function scheduleOf({ callId, caller: { task } }: Called): string | undefined {
  return task !== undefined && callId.startsWith(`${task}.`) ? task : undefined;
}

/** Who made a call: a schedule, a client, an agent or a person, by name. */
export function CallerName({ call, schedules }: { call: Called; schedules: ReadonlyMap<string, string> }) {
  const w = useWords(words);
  const { user, agent } = call.caller;
  const schedule = scheduleOf(call);
  const [Icon, kind, name]: readonly [LucideIcon, string, string] =
    schedule !== undefined
      ? [CalendarClock, w.schedule, schedules.get(schedule) ?? w.deleted]
      : agent?.startsWith("mcp:")
        ? [Plug, w.client, agent.slice(4)]
        : agent !== undefined
          ? [Bot, w.agent, agent]
          : call.origin === "job"
            ? [ListTodo, w.job, user ?? ""]
            : user !== undefined
              ? [User, w.person, user]
              : [Bot, w.program, ""];
  return (
    <span className="inline caller-name" title={[kind, name, user === name ? "" : user].filter(Boolean).join(" · ")}>
      <Icon size={13} role="img" aria-label={kind} />
      <span className="cut">{name === "" ? kind : <VisibleText text={name} />}</span>
    </span>
  );
}
