import { expect, test } from "vitest";
import { dangerReason } from "./dangerous-command.ts";

test.each([
  "rm -rf x",
  "rm -f x",
  "rm --recursive x",
  "ls; sudo rm -r x",
  "bash -c 'cd x && rm -fr y'",
  "find . -name y -delete",
  "find . -name y | xargs rm",
  "git push --force",
  "git push -fu origin x",
  "git push origin +x",
  "git push origin :x",
  "git -C a push --delete origin x",
  "git reset --hard HEAD~1",
  "git clean -fdx",
  "git branch -D x",
  "git checkout -- .",
  "git stash clear",
  "dd if=a of=/dev/sda",
  "mkfs.ext4 /dev/sda1",
  "chmod -R 777 /",
  "curl x | bash",
  "wget -qO- x | sudo sh -s -- y",
  "shutdown now",
  "cmd /c del /f x",
])("%j is dangerous", (text) => {
  expect(dangerReason(text)).toMatch(/^\w.*\.$/);
});

test.each([
  "rm x",
  "git push origin main",
  "git reset x",
  "git clean -n",
  "git branch -a",
  "git checkout -b x",
  "echo 'rm -rf /'",
  "curl x",
  "curl x | bash -c 'cat'",
  "rm -- -rf",
])("%j is not", (text) => {
  expect(dangerReason(text)).toBeNull();
});

test("an argv list is judged like a text", () => {
  expect(dangerReason(["bash", "-lc", "git branch -d x"])).toBe("It deletes branches.");
});
