// Answers programs with the reference: a line [number,text] in, a line {"number","value","output","error"} out.
//
//   node answers.mjs FOLDER      FOLDER: where the reference's npm package is installed
//
// The process that asks ends this one when an answer takes too long, and now and then anyway: the reference's memory
// only grows.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { join, dirname } from 'node:path';

const folder = process.argv[2];
const main = createRequire(join(folder, 'x.js')).resolve('@sema-lang/sema-wasm/sema_wasm.js');
const { initSync, SemaInterpreter } = await import(pathToFileURL(main).href);
initSync({ module: readFileSync(join(dirname(main), 'sema_wasm_bg.wasm')) });

for await (const line of createInterface({ input: process.stdin })) {
  const interpreter = new SemaInterpreter();
  interpreter.resetVFS(); // files would outlive the program that wrote them
  const [number, text] = JSON.parse(line);
  let answer;
  try {
    answer = await interpreter.evalAsync(text);
    interpreter.free();
  } catch (crash) {
    answer = { value: null, output: [], error: `crash: ${crash.message ?? crash}` };
  }
  const failed = answer.error ?? null;
  console.log(JSON.stringify({
    number,
    value: failed ? null : answer.value,
    output: answer.output,
    error: failed && failed.split('\n')[0],
  }));
  if (/step limit|^crash/.test(failed ?? '')) process.exit(0); // its state can't be trusted any more
}
