import { KeyRound } from "lucide-react";
import { useState } from "react";
import { ApiError } from "./api.ts";
import { defineWords, useWords } from "./language.tsx";
import { Button } from "./parts/button.tsx";
import { CopyButton } from "./parts/copy-button.tsx";
import { openModal } from "./parts/dialog.tsx";
import { Failure } from "./parts/failure.tsx";
import { signIn, useOtherTabs } from "./sign-in.ts";

const words = defineWords({
  title: ["Sign in to Haft", "登录 Haft"],
  lost: ["You are signed out. Sign in to continue where you are.", "登录已失效。登录后继续当前页面。"],
  lead: [
    "Run this in the server's folder and open the printed link:",
    "在服务器的文件夹中运行此命令，然后打开输出的链接：",
  ],
  stale: ["This link was used or has expired. Get a new one: haft login", "此链接已使用或已过期。请运行：haft login"],
  or: ["Or use a token with the scope read or more:", "或使用至少有 read 权限的令牌："],
  token: ["Token", "令牌"],
  submit: ["Sign in", "登录"],
  wrong: ["This token is wrong, revoked or expired.", "令牌错误、已撤销或已过期。"],
});

const COMMAND = "haft login";

interface SignInProps {
  /** The address of this page had a link that is not valid any more. */
  isStale: boolean;
}

/** The whole page, if nobody was signed in. */
export default function SignInPage(props: SignInProps) {
  useOtherTabs();
  return (
    <main className="sign-in">
      <SignInForm {...props} />
    </main>
  );
}

/** Over a page whose session has ended: the page stays as it is below. */
export function SignInDialog(props: SignInProps) {
  useOtherTabs();
  return (
    <dialog ref={openModal} className="dialog sign-in-dialog" onCancel={(event) => event.preventDefault()}>
      <SignInForm {...props} isLost />
    </dialog>
  );
}

function SignInForm({ isStale, isLost = false }: SignInProps & { isLost?: boolean }) {
  const w = useWords(words);
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<Error>();
  return (
    <form
      className="panel"
      aria-labelledby="sign-in-title"
      onSubmit={(event) => {
        event.preventDefault();
        signIn(token.trim()).catch(setProblem);
      }}
    >
      <div className="body">
        <KeyRound size={26} aria-hidden />
        <h1 id="sign-in-title">{w.title}</h1>
        {isStale ? (
          <p className="notice warn" role="alert">
            {w.stale}
          </p>
        ) : null}
        {isLost ? <p>{w.lost}</p> : null}
        <p className="muted">{w.lead}</p>
        <div className="row code">
          <code className="grow">{COMMAND}</code>
          <CopyButton text={COMMAND} />
        </div>
        <label className="stack">
          <span className="muted">{w.or}</span>
          <input
            className="input mono"
            type="password"
            autoComplete="off"
            placeholder={w.token}
            aria-label={w.token}
            value={token}
            onChange={({ target }) => setToken(target.value)}
          />
        </label>
        {problem instanceof ApiError && problem.status === 401 ? (
          <p className="notice bad" role="alert">
            {w.wrong}
          </p>
        ) : problem ? (
          <Failure error={problem} />
        ) : null}
        <Button look="primary" type="submit" text={w.submit} disabled={token.trim() === ""} />
      </div>
    </form>
  );
}
