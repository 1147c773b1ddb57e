import { randomInt } from "node:crypto";

const QUALITIES = words(`
  amber bold brisk calm clear cool coral crisp dawn deep eager early fair fleet fresh gentle glad golden grand green
  keen kind light lively lucky mellow mild neat noble plain proud quick quiet rapid ready rosy round sharp silver
  smooth snug solid spry steady still sunny swift tidy vivid warm
`);
const ANIMALS = words(`
  badger bear beaver bison crane crow deer dove duck eagle elk falcon finch fox gecko goose hare hawk heron ibis
  koala lark lemur lion llama lynx mole moose moth newt otter owl panda pike plover puffin quail rabbit raven robin
  seal shrew snail stork swan tapir teal tern tiger toad trout viper walrus weasel whale wolf wren yak zebra
`);

/** Easy to repeat without mistakes; random, so that an id from before a restart does not name another process. */
export function createProcessId(isTaken: (id: string) => boolean): string {
  for (let attempt = 0; ; attempt++) {
    const id = `${pick(QUALITIES)}-${pick(ANIMALS)}${attempt < 20 ? "" : `-${randomInt(1000)}`}`;
    if (!isTaken(id)) return id;
  }
}

function pick(words: readonly string[]): string {
  return words[randomInt(words.length)] as string;
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
