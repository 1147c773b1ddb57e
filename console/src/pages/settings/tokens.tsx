import { Plus } from "lucide-react";
import { useState } from "react";
import type { Scope } from "../../../../src/contracts/identity.ts";
import type { NewToken } from "../../../../src/contracts/tokens.ts";
import { api, queries, useApi } from "../../api.ts";
import { defineWords, type Pair, useWords } from "../../language.tsx";
import { Button, SureButton } from "../../parts/button.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Select } from "../../parts/select.tsx";
import { Table } from "../../parts/table.tsx";
import { TimeAgo } from "../../parts/time-ago.tsx";
import { VisibleText } from "../../parts/visible-text.tsx";

const words = defineWords({
  title: ["API tokens and browsers", "API 令牌和浏览器"],
  list: ["List of tokens and browsers", "令牌与浏览器列表"],
  lead: [
    "For programs and MCP clients. A token is shown once. Revoking a browser signs it out.",
    "供程序和 MCP 客户端使用。令牌只显示一次。撤销浏览器会使其退出登录。",
  ],
  name: ["Name", "名称"],
  scopes: {
    read: ["read", "读取"],
    call: ["call tools", "调用工具"],
    approve: ["approve and change rules", "批准和修改规则"],
    admin: ["manage tokens", "管理令牌"],
  },
  expires: ["Valid for", "有效期"],
  validity: {
    1: ["one day", "一天"],
    30: ["30 days", "30 天"],
    365: ["one year", "一年"],
    0: ["no end", "不过期"],
  } as Record<number, Pair>,
  create: ["Create", "创建"],
  created: (name: string) => [
    `Copy the token "${name}" now. It is not shown again.`,
    `现在复制令牌“${name}”，之后不再显示。`,
  ],
  may: ["May", "权限"],
  made: ["Created", "创建于"],
  until: ["Until", "有效期至"],
  browser: ["browser", "浏览器"],
  none: ["No tokens", "没有令牌"],
  revoke: ["Revoke", "撤销"],
  really: ["Really revoke?", "确定撤销？"],
  action: ["Action", "操作"],
});

const SCOPES: readonly Scope[] = ["read", "call", "approve", "admin"];
const DAY_MS = 86_400_000;

export function Tokens() {
  const w = useWords(words);
  const query = useApi("tokens", "list", []);
  const { data } = query;
  const [fresh, setFresh] = useState<NewToken>();
  const [problem, setProblem] = useState<Error>();
  const reload = (): void => {
    setProblem(undefined);
    void queries.invalidateQueries({ queryKey: ["tokens"] });
  };
  const revoke = (id: string): void => void api.tokens.revoke(id).then(reload, setProblem);
  return (
    <section className="panel" aria-label={w.title}>
      <header>
        <h2>{w.title}</h2>
        <p className="muted small grow">{w.lead}</p>
      </header>
      <div className="body">
        {problem ? <Failure error={problem} /> : null}
        <NewTokenForm
          onCreated={(token) => {
            setFresh(token);
            reload();
          }}
          onProblem={setProblem}
        />
        {fresh ? (
          <div className="notice ok" role="status">
            <div className="grow">
              <p>{w.created(fresh.name)}</p>
              <code>{fresh.token}</code>
            </div>
            <CopyButton text={fresh.token} />
          </div>
        ) : null}
        <Loaded query={query} lines={2}>
          {() => null}
        </Loaded>
        {data?.items.length === 0 ? <p className="muted">{w.none}</p> : null}
        {data && data.items.length > 0 ? (
          <Table
            label={w.list}
            rows={data.items}
            keyOf={({ id }) => id}
            columns={[
              {
                head: w.name,
                cell: ({ name, kind }) => (
                  <>
                    <VisibleText text={name} /> {kind === "session" ? <span className="badge">{w.browser}</span> : null}
                  </>
                ),
              },
              { head: w.may, look: "mono", cell: ({ scopes }) => scopes.join(", ") },
              { head: w.made, look: "muted", cell: ({ createdAt }) => <TimeAgo at={createdAt} /> },
              {
                head: w.until,
                look: "muted",
                cell: ({ expiresAt }) => (expiresAt === undefined ? w.validity[0] : <TimeAgo at={expiresAt} />),
              },
              {
                head: w.action,
                cell: ({ id }) => (
                  <SureButton look="danger small" text={w.revoke} sure={w.really} onSure={() => revoke(id)} />
                ),
              },
            ]}
          />
        ) : null}
      </div>
    </section>
  );
}

function NewTokenForm(props: { onCreated: (token: NewToken) => void; onProblem: (error: Error) => void }) {
  const w = useWords(words);
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["read", "call"]);
  const [days, setDays] = useState(30);
  const create = async (): Promise<void> => {
    const body = { name: name.trim(), scopes: [...scopes], expiresInMs: days > 0 ? days * DAY_MS : undefined };
    props.onCreated(await api.tokens.create(body));
    setName("");
  };
  return (
    <form
      className="row"
      onSubmit={(event) => {
        event.preventDefault();
        create().catch(props.onProblem);
      }}
    >
      <input
        className="input narrow"
        aria-label={w.name}
        placeholder={w.name}
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      {SCOPES.map((scope) => (
        <label key={scope} className="inline check">
          <input
            type="checkbox"
            checked={scopes.includes(scope)}
            onChange={({ target }) =>
              setScopes(target.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
            }
          />
          {w.scopes[scope]}
        </label>
      ))}
      <Select
        label={w.expires}
        value={String(days)}
        options={[1, 30, 365, 0].map((count) => [String(count), w.validity[count] ?? ""] as const)}
        onChoose={(count) => setDays(Number(count))}
      />
      <Button look="primary" icon={Plus} type="submit" disabled={name.trim() === "" || scopes.length === 0}>
        {w.create}
      </Button>
    </form>
  );
}
