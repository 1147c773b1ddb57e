import { Check, PartyPopper } from "lucide-react";
import type { ReactNode } from "react";
import { useLocation } from "wouter";
import { useApi } from "../../api.ts";
import { defineWords, useWords } from "../../language.tsx";
import { Button } from "../../parts/button.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PageFrame } from "../../parts/page-frame.tsx";
import { ConnectClients } from "../mcp/connect-clients.tsx";
import { saveEdited } from "../tools/edited-call.ts";
import { endFirstRun } from "./first-run.ts";
import "./welcome.css";

const words = defineWords({
  title: ["Welcome to Haft", "欢迎使用 Haft"],
  lead: [
    "Five steps: run a tool, write a file, approve it, undo it, connect a client. Each step is checked off when it is done.",
    "五个步骤：运行工具、写入文件、批准、撤销、连接客户端。每一步完成后会自动打勾。",
  ],
  done: (done: number, all: number) => [`${done} of ${all} done`, `已完成 ${done} / ${all}`],
  run: ["Run a tool", "运行一个工具"],
  runHow: [
    "list_files reads this folder. It changes nothing, so it needs no approval. On the next page press Run, below the form.",
    "list_files 读取此文件夹，不修改任何内容，所以不需要批准。在下一页点表单下方的“运行”。",
  ],
  write: ["Write a file", "写入一个文件"],
  writeHow: [
    "write changes a file, so it needs approval. The form on the next page is filled in: press Run, below the form.",
    "write 会修改文件，所以需要批准。下一页的表单已填好：点表单下方的“运行”。",
  ],
  approve: ["Approve it", "批准它"],
  approveHow: [
    "Look at the diff, then approve it once. Only then is the file written.",
    "查看差异并批准一次，然后才会写入文件。",
  ],
  undo: ["Undo it", "撤销它"],
  undoHow: ["Open the call and press Undo: the file is restored.", "打开该调用并点“撤销”：文件恢复原样。"],
  connect: ["Connect a client", "连接一个客户端"],
  connectHow: [
    "Give these tools to your MCP client. This step is done when the client has called one.",
    "让你的 MCP 客户端使用这些工具。客户端调用过一次后，此步骤完成。",
  ],
  open: (page: string) => [`Open ${page}`, `打开 ${page}`],
  card: ["the question", "该请求"],
  call: ["the call", "该调用"],
  connections: ["Connections", "连接"],
  skip: ["Skip the first steps", "跳过引导"],
  finished: ["That is all", "全部完成"],
  finishedLead: [
    "Everything that agents do is under Work. Calls that need approval are under Approvals.",
    "代理所做的一切都在“工作”中，需要批准的调用在“审批”中。",
  ],
  finish: ["Go to Work", "前往工作"],
});

const EXAMPLE = { path: "hello.txt", content: "Hello from Haft\n" };
/** Changes of other processes have no event. */
const CHECK_INTERVAL_MS = 3000;

interface Step {
  id: string;
  title: string;
  how: string;
  isDone: boolean;
  href: string;
  /** What its link opens. */
  page: string;
  onGo?: () => void;
  /** Shown in place of the link when it is the next step. */
  more?: ReactNode;
}

export default function WelcomeView() {
  const w = useWords(words);
  const [, go] = useLocation();
  const calls = useApi("calls", "list", [{ limit: 100 }], { everyMs: CHECK_INTERVAL_MS });
  const approvals = useApi("approvals", "list", [{ brief: true }]).data?.items ?? [];
  const changes = useApi("undo", "list", [{ limit: 50 }]).data?.items ?? [];
  const leave = (): void => {
    endFirstRun();
    go("/work");
  };
  const items = calls.data?.items ?? [];
  const asked = approvals.filter(({ toolName }) => toolName === "write");
  const open = asked.find(({ state }) => state === "pending");
  const approved = approvals.find(({ state }) => state === "approved");
  const steps: Step[] = [
    {
      id: "run",
      title: w.run,
      how: w.runHow,
      isDone: items.some(({ status }) => status === "completed"),
      href: "/tools/list_files",
      page: "list_files",
    },
    {
      id: "write",
      title: w.write,
      how: w.writeHow,
      isDone: asked.length > 0 || items.some(({ toolName }) => toolName === "write"),
      href: "/tools/write",
      page: "write",
      onGo: () => saveEdited("write", EXAMPLE),
    },
    {
      id: "approve",
      title: w.approve,
      how: w.approveHow,
      isDone: approved !== undefined,
      href: open ? `/approvals/${open.id}` : "/approvals",
      page: w.card,
    },
    {
      id: "undo",
      title: w.undo,
      how: w.undoHow,
      isDone: changes.some(({ state }) => state === "undone"),
      href: approved ? `/work/${encodeURIComponent(approved.callId)}` : "/work",
      page: w.call,
    },
    {
      id: "connect",
      title: w.connect,
      how: w.connectHow,
      isDone: items.some(({ origin }) => origin === "mcp"),
      href: "/mcp",
      page: w.connections,
      more: <ConnectClients />,
    },
  ];
  const done = steps.filter(({ isDone }) => isDone).length;
  const next = steps.find(({ isDone }) => !isDone);
  return (
    <PageFrame title={w.title} lead={w.lead} actions={<Button text={w.skip} onClick={leave} />}>
      <Loaded query={calls}>
        {() => (
          <>
            <p className="row" role="status">
              <progress value={done} max={steps.length} aria-label={w.done(done, steps.length)} />
              <span className="muted">{w.done(done, steps.length)}</span>
            </p>
            <ol className="plain-list stack first-run">
              {steps.map((step, at) => (
                <StepCard key={step.id} step={step} number={at + 1} isNext={step === next} />
              ))}
            </ol>
            {next ? null : (
              <section className="panel">
                <div className="stack empty">
                  <PartyPopper size={30} strokeWidth={1.5} aria-hidden />
                  <h2>{w.finished}</h2>
                  <p>{w.finishedLead}</p>
                  <Button look="primary" text={w.finish} onClick={leave} />
                </div>
              </section>
            )}
          </>
        )}
      </Loaded>
    </PageFrame>
  );
}

function StepCard({ step, number, isNext }: { step: Step; number: number; isNext: boolean }) {
  const w = useWords(words);
  const { id, title, how, isDone, href, page, onGo, more } = step;
  // Before the steps above, their pages have nothing to show.
  const isEarly = !isDone && !isNext && (id === "approve" || id === "undo");
  return (
    <li
      className={isDone ? "panel is-done" : isNext ? "panel is-next" : "panel"}
      aria-current={isNext ? "step" : undefined}
    >
      <div className="line step-head">
        <span className="step-number" aria-hidden>
          {isDone ? <Check size={16} /> : number}
        </span>
        <div className="grow">
          <h2>
            {title}
            {isDone ? <span className="sr-only"> ✓</span> : null}
          </h2>
          <p className="muted">{how}</p>
        </div>
        {(more && isNext) || isEarly ? null : (
          <Button look={isNext ? "primary" : ""} text={w.open(page)} href={href} onClick={onGo} />
        )}
      </div>
      {more && isNext ? <div className="step-more">{more}</div> : null}
    </li>
  );
}
