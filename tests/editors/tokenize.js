// node tokenize.js GRAMMAR NODE_MODULES < program: one line a token, its scope and text, by VS Code's own engine
const fs = require('fs'), path = require('path');
const [grammarFile, modules] = process.argv.slice(2);
const { Registry, parseRawGrammar, INITIAL } = require(path.join(modules, 'vscode-textmate'));
const onig = require(path.join(modules, 'vscode-oniguruma'));
const wasm = fs.readFileSync(path.join(modules, 'vscode-oniguruma/release/onig.wasm')).buffer;
const onigLib = onig.loadWASM(wasm).then(() => ({
  createOnigScanner: (patterns) => new onig.OnigScanner(patterns),
  createOnigString: (text) => new onig.OnigString(text),
}));
const loadGrammar = async () => parseRawGrammar(fs.readFileSync(grammarFile, 'utf8'), grammarFile);
new Registry({ onigLib, loadGrammar }).loadGrammar('source.sema').then((grammar) => {
  let state = INITIAL;
  for (const line of fs.readFileSync(0, 'utf8').split('\n')) {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
    state = ruleStack;
    for (const { scopes, startIndex, endIndex } of tokens) {
      console.log(`${scopes[scopes.length - 1]}\t${line.slice(startIndex, endIndex)}`);
    }
  }
});
