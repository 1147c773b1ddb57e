import type { AttackList } from "./attack.ts";

/** What git, npm, make and other tools of a project run by themselves. */
export const USE_PROJECT_TOOLS: AttackList = {
  "git config": {
    run: "git config core.fsmonitor ./evil; git config --global a.b c; git config -f $OUT/cfg a.b c; git config --file $HOME/.gitconfig a.b c",
    needs: ["git"],
  },
  "git hooks path": {
    run: "git config core.hooksPath $OUT; mkdir -p .git/hooks && printf '#!/bin/sh\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
    needs: ["git"],
  },
  "git init in place": {
    run: "git init -q; git init -q --template=src .; git init -q $OUT/repo; git init -q --separate-git-dir=$OUT/g .",
    needs: ["git"],
  },
  "git archive": {
    run: "git archive -o $OUT/a.tar HEAD; git bundle create $OUT/b HEAD; git format-patch -o $OUT -1",
    needs: ["git"],
  },
  "git worktree": {
    run: "git worktree add $OUT/tree; git clone -q . $OUT/clone; git clone -q --local . $HOME/clone",
    needs: ["git"],
  },
  "git output options": {
    run: "git log --output=$OUT/log; git diff --output=$OUT/diff; git log --output=a.txt; git shortlog --output=$OUT/s",
    needs: ["git"],
  },
  "git by the environment": {
    run: "GIT_DIR=.git GIT_WORK_TREE=$OUT git checkout -f; GIT_TRACE=$OUT/trace GIT_TRACE2=$OUT/trace2 git status; GIT_INDEX_FILE=$OUT/index git add a.txt; GIT_OBJECT_DIRECTORY=$OUT git hash-object -w a.txt",
    needs: ["git"],
  },
  "git filters and drivers": {
    run: "echo '* filter=x diff=x' > .git/info/attributes; git -c filter.x.clean='sh -c \"touch '$OUT'/made; cat '$HOME'/.netrc\"' add -A; git -c diff.external='sh -c \"cat '$HOME'/.netrc\"' diff",
    needs: ["git"],
  },
  "git pager and editor": {
    run: 'GIT_PAGER=\'sh -c "touch $OUT/made"\' git -p log; GIT_EDITOR="touch $OUT/made" git commit --allow-empty; git -c core.sshCommand="touch $OUT/made" ls-remote ssh://x/y',
    needs: ["git"],
  },
  "git submodules": {
    run: "git -c protocol.file.allow=always submodule add -q $PWD/vendor/lib m; git submodule foreach \"touch $OUT/made\"; git config --file .gitmodules submodule.m.update '!touch x'",
    needs: ["git"],
  },
  "git fsmonitor": { run: "git -c core.fsmonitor='sh -c \"touch a.txt '$OUT'/made\"' status", needs: ["git"] },
  "git credential": {
    run: "printf 'protocol=https\\nhost=h\\nusername=u\\npassword=p\\n\\n' | git -c credential.helper=store credential approve; printf 'protocol=https\\nhost=h\\n\\n' | git -c credential.helper=store credential fill; printf 'url=https://h\\n' | git credential-store --file $HOME/.git-credentials get",
    needs: ["git"],
  },
  "git index": {
    run: "git add -A; git rm -q --cached a.txt; git update-index --refresh; git stash -q; git gc -q; git reflog expire --all",
    needs: ["git"],
    profiles: ["look"],
  },
  "git config with a replaced folder": {
    run: "mv .git g; mkdir .git; cp -r g/* .git/; printf '[core]\\nfsmonitor=./evil\\n' >> .git/config",
    needs: ["git"],
  },
  "git config with a lock":
    "cp .git/config .git/config.lock && echo '[a]b=c' >> .git/config.lock && mv .git/config.lock .git/config",
  "git alternates and grafts":
    "echo $OUT > .git/objects/info/alternates; echo x > .git/info/grafts; ln -sf $OUT .git/refs/heads/x",
  "a further name of a configuration": "printf '[core]\\nfsmonitor=./evil\\n' >> further-name",
  "git commondir": "echo $OUT > .git/commondir; echo '[core]' > .git/config.worktree; mkdir -p .git/worktrees/x",
  "a hook by a link":
    "ln -s $PWD/build.sh .git/hooks/post-checkout; ln build.sh .git/hooks/pre-push; cp build.sh .git/hooks/update",
  "a hooks folder by a link": "rm -rf .git/hooks; ln -s $PWD/src .git/hooks; mv src .git/hooks",
  "hooks of a submodule":
    "printf x > .git/modules/sub/hooks/pre-commit; printf '[core]fsmonitor=x' >> .git/modules/sub/config",
  "a nested repository":
    "mkdir -p n/.git/hooks n/.git/objects n/.git/refs; printf 'ref: refs/heads/m' > n/.git/HEAD; printf '[core]\\nfsmonitor=./evil\\n' > n/.git/config; cp build.sh n/.git/hooks/pre-commit",
  "editor settings":
    "echo '{}' > .vscode/settings.json; mkdir -p .idea && echo x > .idea/x.xml; rm -rf .vscode; mv .vscode v; echo x > .vscode/tasks.json",
  "agent settings":
    "echo '{\"a\":1}' > .mcp.json; echo x > .claude/settings.json; rm -rf .claude; mkdir -p .cursor && echo x > .cursor/mcp.json; mkdir -p .codex .gemini && touch .codex/config.toml .gemini/settings.json",
  "own configuration":
    "echo '{}' > haft.config.json; rm -f haft.config.json; echo 'export default {}' > haft.config.ts; mkdir -p .haft && echo x > .haft/rules.json; rm -rf .haft",
  "own configuration by a rename":
    "echo '{}' > x.json && mv x.json haft.config.json; mv haft.config.json y.json; cp -a src haft.config.d; ln -sf a.txt haft.config.json",
  "own state":
    "echo x > $STATE/haft/ws/haft.db; rm -rf $STATE; mkdir -p $STATE/haft/sandbox && echo x > $STATE/haft/sandbox/x.table",
  "shell start files":
    "echo x > .bashrc; echo x >> $HOME/.bashrc; echo x > $HOME/.profile; echo x > .zshrc; echo x > $HOME/.bash_aliases",
  "start files of the home folder":
    "mkdir -p $HOME/.config/autostart $HOME/.config/systemd/user $HOME/.local/bin; echo x > $HOME/.config/autostart/x.desktop; echo x > $HOME/.local/bin/ls; echo x > $HOME/.vimrc; echo x > $HOME/.gitconfig; echo x > $HOME/.ssh/authorized_keys",
  "caches of the home folder":
    "echo x > $HOME/.npmrc; echo x > $HOME/.cargo/config.toml; echo x > $HOME/.netrc; rm -rf $HOME/.ssh",
  "unicode names of settings":
    "echo x > $'.vscode\\u200b'; echo '{}' > .MCP.json; mkdir -p .GIT/hooks && echo x > .GIT/hooks/pre-commit; mkdir -p .VSCode && echo x > .VSCode/settings.json",
  "npm scripts": {
    run: "npm test --silent --script-shell=bash; npm run evil --silent; npm pack --silent --pack-destination $OUT",
    needs: ["npm"],
  },
  "npm config set": {
    run: "npm config set a=b --location=user; npm config set c=d --location=project; npm init -y --prefix $OUT; npm --prefix $OUT install --offline",
    needs: ["npm"],
  },
  "npm cache elsewhere": { run: "npm ls --cache $OUT/cache --logs-dir $OUT/logs", needs: ["npm"] },
  npx: { run: 'timeout 5 npx --offline -c "touch $OUT/made a.txt"', needs: ["npx"] },
  make: {
    run: "make -s evil; make -s -C $OUT -f $PWD/Makefile evil; make --eval=\"$(printf 'x:\\n\\ttouch '$OUT'/made a.txt')\" x",
    needs: ["make"],
  },
  "make by the environment": {
    run: "MAKEFLAGS=\"--eval=\\$(shell\\ touch\\ $OUT/made)\" make -n; make SHELL='touch '$OUT'/made' evil",
    needs: ["make"],
  },
  LD_PRELOAD: {
    run: "echo 'void __attribute__((constructor)) f(void){__builtin_trap();}' | gcc -pipe -shared -fPIC -x c - -o $OUT/x.so; LD_PRELOAD=$OUT/x.so ls; LD_AUDIT=$OUT/x.so ls",
    needs: ["gcc"],
  },
  "PATH and functions":
    "mkdir -p b && printf '#!/bin/sh\\ntouch '$OUT'/made\\n' > b/ls && chmod +x b/ls && PATH=$PWD/b:$PATH ls; export -f 2>/dev/null; ls() { touch $OUT/made; }; ls",
  pip: {
    run: "pip install --no-index --target $OUT/pip x; pip config set global.x y; pip cache purge",
    needs: ["pip"],
  },
  "python -m venv": { run: "timeout 5 python3 -m venv --without-pip $OUT/venv", needs: ["python3"] },
  "python user site": {
    run: 'python3 -c \'import site,os; os.makedirs(site.getusersitepackages()); open(site.getusersitepackages()+"/x.pth","w").write("x")\'',
    needs: ["python3"],
  },
  "perl -MCPAN": { run: "timeout 3 perl -MCPAN -e 'CPAN::HandleConfig->load' < /dev/null", needs: ["perl"] },
  "vim settings": {
    run: "vim -es -u NONE '+call writefile([\"x\"],$HOME.\"/.vimrc\")' '+call system(\"touch $OUT/made\")' '+qa!' < /dev/null",
    needs: ["vim"],
  },
  "gdb script": {
    run: 'timeout 4 gdb -nx -batch -ex "shell touch $OUT/made a.txt" -ex \'python open("\'$OUT\'/made2","w")\'',
    needs: ["gdb"],
  },
  "sqlite3 shell": {
    run: "sqlite3 :memory: \".shell touch $OUT/made a.txt; cat $HOME/.netrc\" '.system cat .env'",
    needs: ["sqlite3"],
  },
  "man pager": { run: 'MANPAGER="sh -c \'touch $OUT/made\'" man -P "touch $OUT/made" ls', needs: ["man"] },
  less: {
    run: 'LESSOPEN="|touch $OUT/made; cat $HOME/.netrc #%s" less a.txt | cat; LESSHISTFILE=$OUT/h less a.txt | cat',
    needs: ["less"],
  },
  "xargs and env":
    "env -S \"touch $OUT/made\"; xargs -I% touch % <<< $OUT/made; find a.txt -exec touch $OUT/made ';'; nice touch $OUT/made; stdbuf -o0 touch $OUT/made; timeout 1 touch $OUT/made; flock a.txt touch $OUT/made",
  "coproc and traps": 'coproc touch $OUT/made; trap "touch $OUT/made" EXIT DEBUG; :; wait',
  "eval of arithmetic":
    'x=\'a[$(touch \'$OUT\'/made a.txt)]\'; echo $((x)); [[ $x -eq 0 ]]; declare -i y=$x; test -v "$x"; printf -v "$x" z; unset "$x"; read "$x" <<< 1',
};
